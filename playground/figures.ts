/** The figures that the page shows for a run, and how they are formatted and compared. */
import { MEASURES, type MeasureName } from '../src/sim/measure/measures.ts'
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { formatNumber, formatSignificant } from '../src/text/format.ts'
import type { Unit } from './settings.ts'

/** In display order. */
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

export function formatValue(value: number, unit: Unit): string {
	switch (unit) {
		case 'share':
			return `${formatShare(value)} %`
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

/** Only exactly 1 is shown as 100 %, and only exactly 0 as 0 %. */
function formatShare(share: number): string {
	const percent = share * 100
	if (share < 1 && percent > 99.9) return '> 99.9'
	if (share > 0 && percent < 0.1) return '< 0.1'
	return Number(percent.toFixed(1)).toString()
}

/** A value, `'never'` (not recovered), or `'unknown'` (no value yet, or not shown). */
export type Reading = { readonly value: number } | 'never' | 'unknown'

export function readFigure(name: FigureName, result: SimulationResult): Reading {
	const value = MEASURES[name].of(result)
	if (value !== null) return { value }
	const isUnrecovered = result.recovery?.status === 'not-recovered' && result.endedBy === 'duration'
	return name === 'recoveredAfterMs' && isUnrecovered ? 'never' : 'unknown'
}

export const unitOf = (name: FigureName): Unit => UNITS[name]

/** Compares a figure with the figure of the previous run. Returns undefined if either is unknown. */
export function compareFigures(
	name: FigureName,
	now: Reading,
	previous: Reading,
): 'better' | 'worse' | 'same' | undefined {
	if (now === 'unknown' || previous === 'unknown') return undefined
	const [a, b] = [rank(name, now), rank(name, previous)]
	if (a === b) return 'same'
	return a > b === (MEASURES[name].better === 'more') ? 'better' : 'worse'
}

/** `'never'` is longer than any duration. Numbers that are displayed alike are equal. */
function rank(name: FigureName, reading: Exclude<Reading, 'unknown'>): number {
	if (reading === 'never') return Infinity
	return UNITS[name] === 'share'
		? Number((reading.value * 100).toFixed(1))
		: Number(reading.value.toPrecision(3))
}
