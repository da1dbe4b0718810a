/** Figures as tables write them, each with its unit. */
import type { Estimate } from '../measure/estimate.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import { figure, roughly } from '../picture/figure.ts'

/** A value with its unit: shares in percent, times from a second up in seconds. */
function written(measure: MeasureName, value: number): string {
	const { unit } = MEASURES[measure]
	if (unit === '%') return `${figure(value * 100, 1)} %`
	if (unit === 'ms') return value >= 1_000 ? `${figure(value / 1_000, 2)} s` : `${roughly(value)} ms`
	return unit === '/s' ? `${roughly(value)} /s` : roughly(value)
}

/** A mean, and how far off it may be. */
export function writtenEstimate(measure: MeasureName, { mean, high, count }: Estimate): string {
	if (count === 0) return 'never'
	if (high === mean) return written(measure, mean)
	return `${written(measure, mean)} ±${written(measure, high - mean).replace(/ (?:ms|s|%|\/s)$/, '')}${unitOf(measure, mean, high - mean)}`
}

/** Where the two differ in their unit, as 1.2 s ± 300 ms do, the deviation keeps its own. */
function unitOf(measure: MeasureName, mean: number, deviation: number): string {
	const unit = (text: string) => text.split(' ')[1] ?? ''
	const [first, second] = [unit(written(measure, mean)), unit(written(measure, deviation))]
	return first === second ? '' : ` ${second}`
}
