/** Charts over time: rates per second, with a panel per variant, or per variant and service. */
import type { FaultBand, Panel, ReferenceLine, TimeChart } from '../charts/chart-data.ts'
import type { SimulationResult, Timeline } from '../measure/result.ts'
import { scheduledFaults } from '../model/fault-schedule.ts'
import type { ChartName, VariantStudy } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { busiestService, type ChartSubject, chartSubject } from './chart-subject.ts'
import { casesWithRuns, runsPerCase, type StudyCaseResult, type StudyResult } from './study-result.ts'

/** Reads one series of one service or client, a value per step; undefined if the run has no such name. */
type ReadSeries = (timeline: Timeline, name: string) => readonly number[] | undefined

const CHARTS: Readonly<
	Record<ChartName, { readonly yLabel: string; readonly series: Readonly<Record<string, ReadSeries>> }>
> = {
	requests: {
		yLabel: 'requests / s',
		series: { requests: ({ services }, name) => services[name]?.requests },
	},
	work: {
		yLabel: 'responses / s',
		series: {
			useful: ({ services }, name) => services[name]?.useful,
			wasted: ({ services }, name) => services[name]?.wasted,
		},
	},
	responses: {
		yLabel: 'calls / s',
		series: {
			good: ({ clients }, name) => clients[name]?.good,
			'failed or late': ({ clients }, name) => clients[name]?.bad,
		},
	},
}

export function buildTimeChart(result: StudyResult, study: VariantStudy, chart: ChartName): TimeChart {
	const cases = casesWithRuns(result)
	const all = cases.flatMap(({ runs }) => runs)
	// Runs without a fixed duration differ in the length of their steps, but always by a power of two.
	const stepMs = Math.max(1, ...all.map(({ timeline }) => timeline.stepMs))
	const length = Math.max(1, ...all.map(({ endedAtMs }) => Math.ceil(endedAtMs / stepMs)))
	const subject = chartSubject(result, study, chart)
	const faults = distinctFaults(cases)
	const common = faults.every((own) => own === faults[0]) ? (faults[0] ?? []) : undefined
	return {
		title: study.title,
		subtitle: subject.isChoice ? `${subject.text}; ${describeRuns(cases)}` : describeRuns(cases),
		...(!subject.isChoice && { subject: subject.text }),
		...(result.notes && { notes: result.notes }),
		x: Array.from({ length }, (_, step) => (step * stepMs) / 1_000),
		xLabel: 'seconds',
		yLabel: CHARTS[chart].yLabel,
		rangeLabel: '10th to 90th percentile of the runs',
		...(common && { faults: common }),
		panels: cases.flatMap((one, index) =>
			panelsOf(one, chart, subject, { stepMs, length }).map((panel) => ({
				...panel,
				...(!common && { faults: faults[index] }),
			})),
		),
	}
}

/** Returns the faults of each variant. Neighbors with the same faults share one list, which is labelled once. */
function distinctFaults(cases: readonly StudyCaseResult[]): readonly (readonly FaultBand[])[] {
	const lists: (readonly FaultBand[])[] = []
	for (const { case: one } of cases) {
		const [own, last] = [faultBands(one.scenario), lists.at(-1)]
		lists.push(last && JSON.stringify(own) === JSON.stringify(last) ? last : own)
	}
	return lists
}

/** Returns the faults as bands over seconds. With several services, a label names the service: `outage of api`. */
function faultBands(scenario: Scenario): readonly FaultBand[] {
	const isSeveral = Object.keys(scenario.services).length > 1
	return scheduledFaults(scenario).map(({ kind, service, fromMs, toMs }) => ({
		from: fromMs / 1_000,
		to: toMs / 1_000,
		label: isSeveral ? `${kind} of ${service}` : kind,
	}))
}

interface Steps {
	readonly stepMs: number
	readonly length: number
}

/** Returns a panel for each group of the subject that the variant has. */
function panelsOf(
	one: StudyCaseResult,
	chart: ChartName,
	subject: ChartSubject,
	steps: Steps,
): readonly Panel[] {
	const { name, scenario } = one.case
	const isKnown = (key: string): boolean => Object.hasOwn(scenario[subject.of], key)
	const known = subject.groups.map((group) => group.filter(isKnown)).filter((group) => group.length > 0)
	// A variant without the service that the others show has a panel for its own, with its name.
	const groups = known.length === 0 ? [[busiestService([one])]] : known
	const isNamed = known.length === 0 || subject.groups.length > 1
	return groups.map((group) => ({
		title: isNamed ? `${name} (${group.join(', ')})` : name,
		series: Object.entries(CHARTS[chart].series).map(([label, read]) => {
			const { p10, p50, p90 } = timelinePercentiles(
				one.runs,
				({ timeline }) => sumOf(timeline, group, read),
				steps,
			)
			const hasRange = chart === 'requests' && one.runs.length > 1
			return { name: label, values: p50, ...(hasRange && { range: { low: p10, high: p90 } }) }
		}),
		references: chart === 'requests' ? capacityLine(one.runs[0], group) : [],
	}))
}

/** Returns percentiles of rates per second, for `length` steps of `stepMs`. */
function timelinePercentiles(
	runs: readonly SimulationResult[],
	read: (run: SimulationResult) => readonly number[],
	{ stepMs, length }: Steps,
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

/** Returns the step-by-step sum of one series of several services or clients. */
function sumOf(timeline: Timeline, names: readonly string[], read: ReadSeries): readonly number[] {
	const series = names.map((name) => read(timeline, name) ?? [])
	const length = Math.max(0, ...series.map((values) => values.length))
	return Array.from({ length }, (_, step) => series.reduce((sum, values) => sum + (values[step] ?? 0), 0))
}

function describeRuns(cases: readonly StudyCaseResult[]): string {
	if (cases.every(({ runs }) => runs.length <= 1)) return `seed ${cases[0]?.runs[0]?.seed ?? ''}`
	return `median of ${runsPerCase(cases)} runs, each with its own seed`
}

function capacityLine(
	run: SimulationResult | undefined,
	[service = '']: readonly string[],
): readonly ReferenceLine[] {
	const value = run?.services[service]?.capacityPerSecond ?? null
	return value === null ? [] : [{ value, label: 'capacity' }]
}
