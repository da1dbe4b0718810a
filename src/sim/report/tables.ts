/** The result of a study in rows and columns. */
import { formatNumber, formatPercent, formatSignificant } from '../../text/format.ts'
import { sparkline } from '../../text/sparkline.ts'
import type { Table } from '../../text/table.ts'
import { displayWidth } from '../../text/width.ts'
import type { TimeChart } from '../charts/chart-data.ts'
import { type HeatMap, type HeatPanel, percentText } from '../charts/heat-map.ts'
import { type Estimate, standardErrors } from '../measure/estimate.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import type { VariantStudy } from '../run/study.ts'
import { compareCases, type StudyResult } from './study-result.ts'

const DEFAULT_MEASURES: readonly MeasureName[] = [
	'goodShare',
	'amplification',
	'wastedShare',
	'p99Ms',
	'recoveredAfterMs',
]

/** Returns the measures that the study selects, or the default ones that its runs have. */
function measuresOf({ study, cases }: StudyResult): readonly MeasureName[] {
	if (study.measures) return study.measures
	const hasFaults = cases.some(({ runs }) => runs.some(({ recovery }) => recovery !== null))
	return DEFAULT_MEASURES.filter((name) => name !== 'recoveredAfterMs' || hasFaults)
}

/** Returns a row per variant with the mean of each measure and its uncertainty. */
export function measuresTable(result: StudyResult): Table {
	const compared = compareCases(result)
	const measures = measuresOf(result)
	const isStuck = compared.some(({ neverRecoveredShare }) => neverRecoveredShare > 0)
	return {
		head: ['', ...measures.map((name) => MEASURES[name].label), ...(isStuck ? ['never recovers'] : [])],
		rows: compared.map((one) => [
			one.name,
			...measures.map((name) => estimateText(name, one.measures[name])),
			...(isStuck ? [`${formatPercent(one.neverRecoveredShare, 0)} of runs`] : []),
		]),
	}
}

/** Returns a row per variant with our means beside the published ones, and the difference in standard errors (SE). */
export function referenceTable(
	result: StudyResult,
	reference: NonNullable<VariantStudy['reference']>,
): Table {
	const measures = measuresOf(result)
	return {
		head: ['', ...measures.flatMap((name) => [MEASURES[name].label, 'published', 'difference'])],
		rows: compareCases(result).map((one) => [
			one.name,
			...measures.flatMap((name) => {
				const published = reference[one.name]?.[name]
				const ours = one.measures[name]
				if (!published) return [formatSignificant(ours.mean), '', '']
				const errors = standardErrors(ours, published)
				return [
					formatNumber(ours.mean, 1),
					formatNumber(published.mean, 1),
					`${errors < 0 ? '' : '+'}${formatNumber(errors, 1)} SE`,
				]
			}),
		]),
	}
}

/** Formats a mean with half the width of its confidence interval. */
export function estimateText(measure: MeasureName, { mean, high, count }: Estimate): string {
	if (count === 0) return 'never'
	const value = valueAndUnit(measure, mean)
	if (high === mean) return value.join(' ').trim()
	const deviation = valueAndUnit(measure, high - mean)
	// The deviation has a unit of its own where it differs, as in 1.2 s ±300 ms.
	const unit = deviation[1] === value[1] ? '' : ` ${deviation[1]}`
	return `${value.join(' ').trim()} ±${deviation[0]}${unit}`
}

/** Shares in percent, durations of a second and more in seconds. */
function valueAndUnit(measure: MeasureName, value: number): readonly [value: string, unit: string] {
	const { unit } = MEASURES[measure]
	if (unit === '%') return [formatNumber(value * 100, 1), unit]
	if (unit === 'ms' && Math.abs(value) >= 1_000) return [formatNumber(value / 1_000, 2), 's']
	return [formatSignificant(value), unit]
}

const MIN_SPARKLINE = 10
const MAX_SPARKLINE = 60

/** Returns a row per series with a sparkline and its peak, all on one scale, and a row that marks the faults. */
export function sparklineTable({ x, yLabel = '', faults = [], panels }: TimeChart, width: number): Table {
	const series = panels.flatMap(({ title, series: all }) =>
		all.map(({ name, values }) => ({ name: all.length === 1 ? title : `${title}, ${name}`, values })),
	)
	const peakOf = (values: readonly (number | null)[]) =>
		values.reduce<number>((a, b) => Math.max(a, b ?? a), 0)
	const max = peakOf(series.map(({ values }) => peakOf(values)))
	const [from = 0, to = 0, peak] = [x[0], x.at(-1), formatSignificant(max)]
	const labels = [...new Set(faults.map(({ label }) => label))].join(', ')
	const nameWidth = Math.max(...[yLabel, labels, ...series.map(({ name }) => name)].map(displayWidth))
	const room = Math.min(MAX_SPARKLINE, width - nameWidth - Math.max(4, peak.length) - 6)
	const columns = Math.min(x.length, Math.max(MIN_SPARKLINE, room))
	const isFaulty = x.map((at) => (faults.some(({ from: start, to: end }) => start <= at && at < end) ? 1 : 0))
	const marks = sparkline(isFaulty, columns, 1).replaceAll('▁', '─').replaceAll('█', '×')
	return {
		head: [yLabel, `${formatSignificant(from)} to ${formatSignificant(to)} s`, 'peak'],
		rows: [
			...series.map(({ name, values }) => [name, sparkline(values, columns, max), peakOf(values)]),
			...(labels === '' ? [] : [[labels, marks]]),
		],
		align: ['left', 'left', 'right'],
	}
}

export function heatTable({ x, y }: HeatMap, { title, cells }: HeatPanel): Table {
	const rows = y.map((label, row) => [
		label,
		...(cells[row] ?? []).map((share) => (share === null ? '-' : `${percentText(share)} %`)),
	])
	return { head: [title, ...x], rows: rows.toReversed() }
}
