/** The chart of a study: rates over time with a panel per variant, curves over a number, or a heat map. */
import { invalidOption } from '../../core/options/schema.ts'
import type { ReferenceLine, TimeChart } from '../charts/chart-data.ts'
import type { HeatMap } from '../charts/heat-map.ts'
import { MEASURES, type MeasureName } from '../measure/measures.ts'
import { mergeRuns } from '../measure/replications.ts'
import type { ServiceResult, SimulationResult } from '../measure/result.ts'
import { faultsOf } from '../model/fault-schedule.ts'
import type { Curves, GridStudy, VariantStudy } from '../run/study.ts'
import { casesWithRuns, type StudyCaseResult, type StudyResult } from './study-result.ts'

/** Reads one series of a run, a value per step. */
type ReadSeries = (result: SimulationResult) => readonly number[]

export type ChartName = NonNullable<VariantStudy['chart']>

/** What each chart shows. Requests are those of the service that received most. */
const CHARTS: Readonly<
	Record<ChartName, { readonly yLabel: string; readonly series: Readonly<Record<string, ReadSeries>> }>
> = {
	requests: {
		yLabel: 'requests / s',
		series: { requests: (run) => run.timeline.services[busiestService(run)?.[0] ?? '']?.requests ?? [] },
	},
	work: {
		yLabel: 'responses / s',
		series: {
			useful: ({ timeline: { services } }) => sumSeries(services, 'useful'),
			wasted: ({ timeline: { services } }) => sumSeries(services, 'wasted'),
		},
	},
	responses: {
		yLabel: 'calls / s',
		series: {
			good: ({ timeline: { clients } }) => sumSeries(clients, 'good'),
			'failed or late': ({ timeline: { clients } }) => sumSeries(clients, 'bad'),
		},
	},
}

export const CHART_NAMES: readonly ChartName[] = Object.keys(CHARTS) as ChartName[]

function busiestService(run: SimulationResult | undefined): readonly [string, ServiceResult] | undefined {
	return Object.entries(run?.services ?? {}).reduce<[string, ServiceResult] | undefined>(
		(most, one) => (most && most[1].requests >= one[1].requests ? most : one),
		undefined,
	)
}

/** Returns a chart over time with a panel per variant. */
export function buildTimeChart(result: StudyResult, study: VariantStudy, chart: ChartName): TimeChart {
	const cases = casesWithRuns(result)
	const all = cases.flatMap(({ runs }) => runs)
	// Runs without a fixed duration differ in the length of their steps, but always by a power of two.
	const stepMs = Math.max(1, ...all.map(({ timeline }) => timeline.stepMs))
	const length = Math.max(1, ...all.map(({ endedAtMs }) => Math.ceil(endedAtMs / stepMs)))
	const { yLabel, series } = CHARTS[chart]
	const isStack = chart !== 'requests'
	return {
		title: study.title,
		subtitle: describeRuns(cases),
		x: Array.from({ length }, (_, step) => (step * stepMs) / 1_000),
		xLabel: 'seconds',
		yLabel,
		rangeLabel: '10th to 90th percentile of the runs',
		faults: faultsOf(cases[0]?.case.scenario ?? { services: {} }).map(({ kind, fromMs, toMs }) => {
			return { from: fromMs / 1_000, to: toMs / 1_000, label: kind }
		}),
		panels: cases.map(({ case: { name }, runs }) => ({
			title: name,
			series: Object.entries(series).map(([label, read]) => {
				const { p10, p50, p90 } = timelinePercentiles(runs, read, stepMs, length)
				const hasRange = !isStack && runs.length > 1
				return { name: label, values: p50, ...(hasRange && { range: { low: p10, high: p90 } }) }
			}),
			references: isStack ? [] : capacityLine(runs[0]),
		})),
	}
}

/** Returns percentiles of rates per second, for `length` steps of `stepMs`. */
function timelinePercentiles(
	runs: readonly SimulationResult[],
	read: ReadSeries,
	stepMs: number,
	length: number,
): Readonly<Record<'p10' | 'p50' | 'p90', readonly number[]>> {
	const rates = runs.map((run) => mergeSteps(read(run), stepMs / run.timeline.stepMs, 1_000 / stepMs))
	const steps = Array.from({ length }, (_, step) =>
		rates.map((rate) => rate[step] ?? 0).sort((a, b) => a - b),
	)
	const percentile = (share: number) =>
		steps.map((values) => values[Math.round((values.length - 1) * share)] ?? 0)
	return { p10: percentile(0.1), p50: percentile(0.5), p90: percentile(0.9) }
}

/** Returns the sums of `factor` neighbors each, multiplied by `scale`. */
function mergeSteps(values: readonly number[], factor: number, scale: number): readonly number[] {
	const sums = new Array<number>(Math.ceil(values.length / factor)).fill(0)
	for (const [index, value] of values.entries()) {
		const at = Math.floor(index / factor)
		sums[at] = (sums[at] ?? 0) + value * scale
	}
	return sums
}

/** Returns the step-by-step sum of one series of all clients or services. */
function sumSeries<Name extends string>(
	timelines: Readonly<Record<string, Readonly<Record<Name, readonly number[]>>>>,
	name: Name,
): readonly number[] {
	const series = Object.values(timelines).map((timeline) => timeline[name])
	const length = Math.max(0, ...series.map((values) => values.length))
	return Array.from({ length }, (_, step) => series.reduce((sum, values) => sum + (values[step] ?? 0), 0))
}

function describeRuns(cases: readonly StudyCaseResult[]): string {
	const counts = cases.map(({ runs }) => runs.length)
	const [min, max] = [Math.min(...counts), Math.max(...counts)]
	if (max <= 1) return `seed ${cases[0]?.runs[0]?.seed ?? ''}`
	return `median of ${min === max ? max : `${min} to ${max}`} runs, each with its own seed`
}

function capacityLine(run: SimulationResult | undefined): readonly ReferenceLine[] {
	const value = busiestService(run)?.[1].capacityPerSecond ?? null
	return value === null ? [] : [{ value, label: 'capacity' }]
}

/** Returns curves over a number in which the variants differ, with a panel per measure. */
export function buildCurves(
	{ cases }: StudyResult,
	study: VariantStudy,
	{ xLabel, measures, points }: Curves,
): TimeChart {
	const known = cases.flatMap(({ case: { name }, runs }) => {
		const point = points[name]
		if (point && !Number.isFinite(point.x))
			invalidOption(`curves.points.${name}.x`, point.x, 'a finite number')
		return point && runs.length > 0 ? [{ ...point, estimates: mergeRuns(runs).measures }] : []
	})
	const x = [...new Set(known.map((point) => point.x))].sort((a, b) => a - b)
	const curves = [...new Set(known.map(({ curve }) => curve))]
	const panelOf = (measure: MeasureName) => {
		const { label, unit } = MEASURES[measure]
		return {
			title: `${label}${unit && `, ${unit}`}`,
			series: curves.map((curve) => {
				const estimates = x.map(
					(at) => known.find((point) => point.curve === curve && point.x === at)?.estimates[measure],
				)
				const valuesOf = (field: 'mean' | 'low' | 'high') => estimates.map((one) => one?.[field] ?? null)
				return {
					name: curve,
					values: valuesOf('mean'),
					range: { low: valuesOf('low'), high: valuesOf('high') },
				}
			}),
		}
	}
	return {
		title: study.title,
		subtitle: 'means with 95 % confidence intervals',
		x,
		xLabel,
		rangeLabel: '95 % confidence',
		scale: 'own',
		panels: measures.map(panelOf),
	}
}

const CELLS: Readonly<Record<NonNullable<GridStudy['cell']>, string>> = {
	recovered: 'runs that recovered',
	goodShare: 'successful calls',
	wastedShare: 'wasted work',
}

export function buildHeatMap({ cases }: StudyResult, study: GridStudy): HeatMap {
	const { x, y, panels, title, cell = 'recovered' } = study
	const labels = ({ values, format = String }: GridStudy['x']) => values.map((value) => format(value))
	const shareAt = (panel: string, down: number, across: number): number | null => {
		const found = cases.find(({ case: one }) => one.name === panel && one.x === across && one.y === down)
		if (!found || found.runs.length === 0) return null
		const { recoveredShare, notShownShare, measures } = mergeRuns(found.runs)
		// Runs that ended too soon to tell are left out: NaN if all did.
		const share = cell === 'recovered' ? recoveredShare / (1 - notShownShare) : measures[cell].mean
		return Number.isNaN(share) ? null : share
	}
	const perCell = `${Math.max(0, ...cases.map(({ runs }) => runs.length))} runs per cell`
	const notShown = cases
		.flatMap(({ runs }) => runs)
		.filter(({ recovery }) => recovery?.status === 'not-shown')
	const leavesOut = cell === 'recovered' && notShown.length > 0
	return {
		title,
		subtitle: leavesOut ? `${perCell}, without ${notShown.length} that ended too soon to tell` : perCell,
		x: labels(x),
		y: labels(y),
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
