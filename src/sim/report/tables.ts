/** The tables of a study besides its measures: published figures, sparklines and heat maps. */
import { formatNumber, formatSignificant } from '../../text/format.ts'
import { sparkline } from '../../text/sparkline.ts'
import type { Table } from '../../text/table.ts'
import { displayWidth } from '../../text/width.ts'
import type { FaultBand, Panel, TimeChart, Values } from '../charts/chart-data.ts'
import { type HeatMap, type HeatPanel, percentText } from '../charts/heat-map.ts'
import { standardErrors } from '../measure/estimate.ts'
import { MEASURES } from '../measure/measures.ts'
import type { VariantStudy } from '../run/study.ts'
import { measuresOf } from './measures-table.ts'
import { compareCases, type StudyResult } from './study-result.ts'

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

const MIN_SPARKLINE = 10
const MAX_SPARKLINE = 60

/**
 * Returns a row per series with a sparkline and its peak, all on one scale, and a row that marks the faults:
 * below all, or below the panels that have them.
 */
export function sparklineTable({ x, yLabel = '', faults = [], panels }: TimeChart, width: number): Table {
	const rowsOf = ({ title, series: all, faults: own }: Panel, index: number): readonly SparklineRow[] => [
		...all.map(({ name, values }) => ({ name: all.length === 1 ? title : `${title}, ${name}`, values })),
		...(own && own !== panels[index + 1]?.faults ? faultRow(own) : []),
	]
	const rows = [...panels.flatMap(rowsOf), ...faultRow(faults)]
	const max = Math.max(0, ...rows.map(({ values }) => peakOf(values)))
	const [from = 0, to = 0, peak] = [x[0], x.at(-1), formatSignificant(max)]
	const nameWidth = Math.max(...[yLabel, ...rows.map(({ name }) => name)].map(displayWidth))
	const room = Math.min(MAX_SPARKLINE, width - nameWidth - Math.max(4, peak.length) - 6)
	const columns = Math.min(x.length, Math.max(MIN_SPARKLINE, room))
	const marksOf = (bands: readonly FaultBand[]): string => {
		const isFaulty = x.map((at) => (bands.some((band) => band.from <= at && at < band.to) ? 1 : 0))
		return sparkline(isFaulty, columns, 1).replaceAll('▁', '─').replaceAll('█', '×')
	}
	return {
		head: [yLabel, `${formatSignificant(from)} to ${formatSignificant(to)} s`, 'peak'],
		rows: rows.map(({ name, values, bands }) =>
			bands ? [name, marksOf(bands)] : [name, sparkline(values, columns, max), peakOf(values)],
		),
		align: ['left', 'left', 'right'],
	}
}

interface SparklineRow {
	readonly name: string
	readonly values: Values
	readonly bands?: readonly FaultBand[]
}

const faultRow = (bands: readonly FaultBand[]): readonly SparklineRow[] =>
	bands.length === 0
		? []
		: [{ name: [...new Set(bands.map(({ label }) => label))].join(', '), values: [], bands }]

const peakOf = (values: Values): number => values.reduce<number>((a, b) => Math.max(a, b ?? a), 0)

export function heatTable({ x, y }: HeatMap, { title, cells }: HeatPanel): Table {
	const rows = y.map((label, row) => [
		label,
		...(cells[row] ?? []).map((share) => (share === null ? '-' : `${percentText(share)} %`)),
	])
	return { head: [title, ...x], rows: rows.toReversed() }
}
