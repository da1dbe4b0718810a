/** The few numbers that a run is judged by, and how they are written. */
import { MEASURES, type MeasureName } from '../src/sim/measure/measures.ts'
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { formatNumber, formatSignificant } from '../src/text/format.ts'
import type { Unit } from './settings.ts'

/** In the order in which they are shown. */
export const FIGURES = [
	'goodShare',
	'recoveredAfterMs',
	'amplification',
	'wastedShare',
	'p99Ms',
	'peakPerSecond',
] as const satisfies readonly MeasureName[]

export type FigureName = (typeof FIGURES)[number]

const UNITS: Readonly<Record<FigureName, Unit>> = {
	goodShare: 'share',
	recoveredAfterMs: 'ms',
	amplification: 'times',
	wastedShare: 'share',
	p99Ms: 'ms',
	peakPerSecond: 'perSecond',
}

/** A number with its unit. */
export function written(value: number, unit: Unit): string {
	switch (unit) {
		case 'share':
			return `${shareText(value)} %`
		case 'ms':
			return value < 1_000 ? `${formatNumber(value)} ms` : `${formatSignificant(value / 1_000)} s`
		case 'seconds':
			return `${formatSignificant(value)} s`
		case 'times':
			return `× ${formatSignificant(value)}`
		case 'perSecond':
			return `${formatSignificant(value)}/s`
		case 'count':
			return formatNumber(value)
	}
}

/** What is not quite all does not read as all, nor what is more than nothing as nothing. */
function shareText(share: number): string {
	const percent = share * 100
	if (share < 1 && percent > 99.9) return '> 99.9'
	if (share > 0 && percent < 0.1) return '< 0.1'
	return Number(percent.toFixed(1)).toString()
}

/** What a figure is: a value, never, or nothing that can be said (yet). */
export type Reading = { readonly value: number } | 'never' | 'unknown'

export function readingOf(name: FigureName, result: SimulationResult): Reading {
	const value = MEASURES[name].of(result)
	if (value !== null) return { value }
	const isStuck = name === 'recoveredAfterMs' && result.recovery !== null && result.endedBy === 'duration'
	return isStuck ? 'never' : 'unknown'
}

export const unitOf = (name: FigureName): Unit => UNITS[name]

/** How a figure compares with what it was; undefined where there is nothing to compare, or no difference that is shown. */
export function change(
	name: FigureName,
	now: Reading,
	before: Reading,
): 'better' | 'worse' | 'same' | undefined {
	if (now === 'unknown' || before === 'unknown') return undefined
	const [here, there] = [rank(name, now), rank(name, before)]
	if (here === there) return 'same'
	return here > there === (MEASURES[name].better === 'more') ? 'better' : 'worse'
}

/** Never is longer than any time. Numbers that read the same are the same. */
function rank(name: FigureName, reading: Exclude<Reading, 'unknown'>): number {
	if (reading === 'never') return Infinity
	return UNITS[name] === 'share'
		? Number((reading.value * 100).toFixed(1))
		: Number(reading.value.toPrecision(3))
}
