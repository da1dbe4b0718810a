/** The charts of a run, each with one line of the previous run for comparison. */
import type { Values } from '../src/sim/charts/chart-data.ts'
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { faultsAt } from '../src/sim/model/fault-schedule.ts'
import type { Fault } from '../src/sim/scenario/scenario.ts'
import { formatSignificant } from '../src/text/format.ts'
import type { Plot } from './plot.ts'
import { CALLERS, SERVICE, SHOP, type TimedScenario } from './scenario.ts'
import type { Settings } from './settings.ts'
import type { ChartName, SeriesName, Words } from './words.ts'

/** A run that the page shows, possibly while it is still running. */
export interface WatchedRun {
	readonly scenario: TimedScenario
	readonly result: SimulationResult
	readonly isDone: boolean
}

/** Reads the values of a series, one per step; undefined if the scenario has no such service. */
type ReadSeries = (result: SimulationResult) => readonly number[] | undefined

const callers = ({ timeline }: SimulationResult) => timeline.clients[CALLERS]
const service = ({ timeline }: SimulationResult) => timeline.services[SERVICE]

type RunSeries = Exclude<SeriesName, 'capacity' | 'previous'>

const SERIES: Readonly<Record<RunSeries, ReadSeries>> = {
	// Calls to the shop are not comparable with the capacity of the service behind it.
	calls: (result) => (result.timeline.services[SHOP] ? undefined : callers(result)?.started),
	requests: (result) => service(result)?.requests,
	good: (result) => callers(result)?.good,
	bad: (result) => callers(result)?.bad,
	useful: (result) => service(result)?.useful,
	wasted: (result) => service(result)?.wasted,
	queued: (result) => service(result)?.queue,
	queuedAtShop: ({ timeline }) => timeline.services[SHOP]?.queue,
}

interface ChartDefinition {
	readonly areas: readonly RunSeries[]
	readonly lines: readonly RunSeries[]
	/** The first of these that the previous run has is drawn for comparison. */
	readonly previous: readonly RunSeries[]
	/** Whether values are counts per step, drawn as rates per second. */
	readonly isRate: boolean
	readonly capacity: boolean
}

const CHARTS: Readonly<Record<ChartName, ChartDefinition>> = {
	requests: { areas: [], lines: ['calls', 'requests'], previous: ['requests'], isRate: true, capacity: true },
	responses: { areas: ['good', 'bad'], lines: [], previous: ['good'], isRate: true, capacity: false },
	work: { areas: ['useful', 'wasted'], lines: [], previous: ['useful'], isRate: true, capacity: true },
	queue: {
		areas: [],
		lines: ['queued', 'queuedAtShop'],
		previous: ['queuedAtShop', 'queued'],
		isRate: false,
		capacity: false,
	},
}

export const CHART_NAMES: readonly ChartName[] = Object.keys(CHARTS) as ChartName[]

/** Color classes by meaning: good is blue and bad is orange in every chart. */
const COLORS: Readonly<Record<SeriesName, string>> = {
	calls: 's2',
	requests: 's0',
	capacity: 'reference',
	good: 's0',
	bad: 's1',
	useful: 's0',
	wasted: 's1',
	queued: 's0',
	queuedAtShop: 's1',
	previous: 'previous',
}

export interface LegendItem {
	readonly name: SeriesName
	readonly kind: 'line' | 'area'
	readonly color: string
}

export function listLegend(
	chart: ChartName,
	{ result }: WatchedRun,
	previous: WatchedRun | undefined,
): readonly LegendItem[] {
	const { areas, lines, capacity } = CHARTS[chart]
	const item = (name: SeriesName, kind: LegendItem['kind']) => ({ name, kind, color: COLORS[name] })
	return [
		...areas.map((name) => item(name, 'area')),
		...lines.filter((name) => SERIES[name](result)).map((name) => item(name, 'line')),
		...(capacity && capacityOf(result) !== undefined ? [item('capacity', 'line')] : []),
		...(previous ? [item('previous', 'line')] : []),
	]
}

export function buildPlot(
	chart: ChartName,
	run: WatchedRun,
	previous: WatchedRun | undefined,
	words: Words,
): Plot {
	const definition = CHARTS[chart]
	const { scenario, result } = run
	const { stepMs } = result.timeline
	const count = Math.ceil(scenario.durationMs / stepMs)
	const factor = definition.isRate ? 1_000 / stepMs : 1
	const readSeries = (of: WatchedRun, names: readonly RunSeries[]) =>
		names.flatMap((name) => {
			const counts = SERIES[name](of.result)
			if (!counts) return []
			const known = completeSteps(of)
			const valueAt = (step: number) => (step < known ? (counts[step] ?? 0) * factor : null)
			return [{ name, values: Array.from({ length: count }, (_, step) => valueAt(step)) }]
		})
	const [areas, lines] = [readSeries(run, definition.areas), readSeries(run, definition.lines)]
	const compared = previous ? readSeries(previous, definition.previous).slice(0, 1) : []
	const capacity = definition.capacity ? capacityOf(result) : undefined
	return {
		description: [
			words.charts[chart],
			...[...areas, ...lines].map(({ name, values }) => describe(name, values)),
		].join(' '),
		// Values stand in the middle of their step.
		x: Array.from({ length: count }, (_, step) => ((step + 0.5) * stepMs) / 1_000),
		xLabel: words.seconds,
		endX: scenario.durationMs / 1_000,
		areas,
		lines: [...compared.map(({ values }) => ({ name: 'previous', values })), ...lines],
		references: capacity === undefined ? [] : [{ value: capacity, label: words.series.capacity }],
		faults: faultsOf(scenario, words),
		colorOf: (name) => COLORS[name as SeriesName],
	}

	function describe(name: SeriesName, values: Values): string {
		const numbers = values.filter((value) => value !== null)
		const [max, last] = [Math.max(0, ...numbers), numbers.at(-1) ?? 0]
		return words.describeSeries(words.series[name], formatSignificant(max), formatSignificant(last))
	}
}

/** Returns the number of steps with all their events: while a run is not done, the last step is incomplete. */
const completeSteps = ({ result: { endedAtMs, timeline }, isDone }: WatchedRun): number =>
	isDone ? Math.ceil(endedAtMs / timeline.stepMs) : Math.floor(endedAtMs / timeline.stepMs)

const capacityOf = ({ services }: SimulationResult): number | undefined =>
	services[SERVICE]?.capacityPerSecond ?? undefined

/** Returns the setting that describes a fault. A restart begins with refused connections. */
function settingOf(fault: Fault): Exclude<Settings['fault'], 'none'> {
	if (fault.kind === 'outage') return fault.mode ?? 'refuse'
	return fault.kind === 'restart' ? 'refuse' : fault.kind
}

const faultsOf = (scenario: TimedScenario, { options }: Words): Plot['faults'] =>
	faultsAt(scenario, SERVICE).map((fault) => ({
		from: fault.fromMs / 1_000,
		to: fault.toMs / 1_000,
		label: options.fault[settingOf(fault)],
	}))
