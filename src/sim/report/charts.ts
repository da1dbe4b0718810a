/** Which picture answers a study: what happened over time, side by side; curves over a number; or a map. */
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import type { SimulationResult } from '../measure/result.ts'
import type { ReferenceLine, Series, Shade, TimeChart } from '../picture/chart.ts'
import type { HeatMap } from '../picture/heat-chart.ts'
import { mergeRuns } from '../run/replicate.ts'
import type { Curves, GridStudy, VariantStudy } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { StudyCaseResult, StudyResult } from './outcome.ts'
import { added, commonStep, overlay, type Read } from './timelines.ts'

type Picture = NonNullable<VariantStudy['chart']>

/** What each picture draws of a run. Of several services, requests are drawn of the one that got most. */
const READINGS: Readonly<
	Record<Picture, { readonly yLabel: string; readonly rows: Readonly<Record<string, Read>> }>
> = {
	requests: { yLabel: 'requests / s', rows: { requests: (run) => busiest(run)?.requests ?? [] } },
	work: {
		yLabel: 'answers / s',
		rows: {
			useful: ({ timeline }) => added(Object.values(timeline.services).map(({ useful }) => useful)),
			wasted: ({ timeline }) => added(Object.values(timeline.services).map(({ wasted }) => wasted)),
		},
	},
	responses: {
		yLabel: 'calls / s',
		rows: {
			good: ({ timeline }) => added(Object.values(timeline.clients).map(({ good }) => good)),
			'failed or late': ({ timeline }) => added(Object.values(timeline.clients).map(({ bad }) => bad)),
		},
	},
}

function busiest({
	timeline,
	services,
}: SimulationResult): SimulationResult['timeline']['services'][string] | undefined {
	const [name] = Object.entries(services).reduce((a, b) => (b[1].requests > a[1].requests ? b : a))
	return timeline.services[name]
}

/** One plot for each variant, over a common time. */
export function overTime({ cases }: StudyResult, study: VariantStudy, picture: Picture): TimeChart {
	const run = cases.filter(({ runs }) => runs.length > 0)
	const all = run.flatMap(({ runs }) => runs)
	const stepMs = commonStep(all)
	const length = Math.max(1, ...all.map(({ endedAtMs }) => Math.ceil(endedAtMs / stepMs)))
	const { yLabel, rows } = READINGS[picture]
	const isStack = picture !== 'requests'
	return {
		title: study.title,
		subtitle: subtitleOf(run),
		x: Array.from({ length }, (_, step) => (step * stepMs) / 1_000),
		yLabel,
		...(isStack || !hasSeveral(run) ? {} : { bandLabel: 'all but the outermost tenths of the runs' }),
		shades: shadesOf(run[0]?.case.scenario),
		panels: run.map(({ case: { name }, runs }) => ({
			title: name,
			series: Object.entries(rows).map(([row, read]) =>
				seriesOf(row, overlay(runs, read, stepMs, length), !isStack && runs.length > 1),
			),
			lines: isStack ? [] : capacityOf(runs),
		})),
	}
}

const seriesOf = (
	name: string,
	{ middle, low, high }: ReturnType<typeof overlay>,
	hasBand: boolean,
): Series => ({
	name,
	values: middle,
	...(hasBand ? { band: { low, high } } : {}),
})

const hasSeveral = (cases: readonly StudyCaseResult[]): boolean => cases.some(({ runs }) => runs.length > 1)

const subtitleOf = (cases: readonly StudyCaseResult[]): string => {
	const counts = cases.map(({ runs }) => runs.length)
	const [least, most] = [Math.min(...counts), Math.max(...counts)]
	if (most <= 1) return `seed ${cases[0]?.runs[0]?.seed ?? ''}`
	return `median of ${least === most ? most : `${least} to ${most}`} runs, each with its own seed`
}

function shadesOf(scenario: Scenario | undefined): readonly Shade[] {
	return Object.values(scenario?.services ?? {}).flatMap((service) =>
		service.kind === 'optimistic-lock'
			? []
			: (service.faults ?? []).map(({ kind, fromMs, toMs }) => ({
					from: fromMs / 1_000,
					to: toMs / 1_000,
					label: kind,
				})),
	)
}

function capacityOf(runs: readonly SimulationResult[]): readonly ReferenceLine[] {
	const services = Object.values(runs[0]?.services ?? {})
	const busiestOne = services.reduce<(typeof services)[number] | undefined>(
		(most, one) => (!most || one.requests > most.requests ? one : most),
		undefined,
	)
	const value = busiestOne?.capacityPerSecond
	return value === undefined || value === null ? [] : [{ value, label: 'capacity' }]
}

/** One plot for each figure, one curve for each name. */
export function overNumber(
	{ cases }: StudyResult,
	study: VariantStudy,
	{ xLabel, measures, points }: Curves,
): TimeChart {
	const known = cases.flatMap(({ case: { name }, runs }) => {
		const point = points[name]
		return point && runs.length > 0 ? [{ ...point, measured: mergeRuns(runs).measures }] : []
	})
	const x = [...new Set(known.map((point) => point.x))].sort((a, b) => a - b)
	const curves = [...new Set(known.map(({ curve }) => curve))]
	const estimateAt = (curve: string, at: number, measure: MeasureName) =>
		known.find((point) => point.curve === curve && point.x === at)?.measured[measure]
	return {
		title: study.title,
		subtitle: 'means with 95 % confidence intervals',
		x,
		xLabel,
		bandLabel: '95 % confidence',
		scale: 'own',
		panels: measures.map((measure) => ({
			title: `${MEASURES[measure].label}${MEASURES[measure].unit && `, ${MEASURES[measure].unit}`}`,
			series: curves.map((curve) => ({
				name: curve,
				values: x.map((at) => estimateAt(curve, at, measure)?.mean ?? null),
				band: {
					low: x.map((at) => estimateAt(curve, at, measure)?.low ?? null),
					high: x.map((at) => estimateAt(curve, at, measure)?.high ?? null),
				},
			})),
		})),
	}
}

const CELLS: Readonly<Record<NonNullable<GridStudy['cell']>, string>> = {
	recovered: 'runs that recovered',
	goodShare: 'calls that ended well',
	wastedShare: 'work that was wasted',
}

export function map({ cases }: StudyResult, study: GridStudy): HeatMap {
	const { x, y, panels, title, cell = 'recovered' } = study
	const shown = ({ format = String }: GridStudy['x'], value: number) => format(value)
	const shareAt = (panel: string, down: number, across: number): number | null => {
		const runs =
			cases.find(({ case: one }) => one.name === panel && one.x === across && one.y === down)?.runs ?? []
		if (runs.length === 0) return null
		const { neverRecoveredShare, measures } = mergeRuns(runs)
		return cell === 'recovered' ? 1 - neverRecoveredShare : measures[cell].mean
	}
	return {
		title,
		subtitle: `${Math.max(0, ...cases.map(({ runs }) => runs.length))} runs a cell`,
		x: x.values.map((value) => shown(x, value)),
		y: y.values.map((value) => shown(y, value)),
		xLabel: x.label,
		yLabel: y.label,
		valueLabel: CELLS[cell],
		unknownLabel: 'not run',
		panels: panels.map((panel) => ({
			title: panel,
			cells: y.values.map((down) => x.values.map((across) => shareAt(panel, down, across))),
		})),
	}
}
