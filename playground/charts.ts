/** What is drawn of a run, beside the run before it. */

import type { Values } from '../src/sim/charts/chart-data.ts'
import type { SimulationResult } from '../src/sim/measure/result.ts'
import { formatSignificant } from '../src/text/format.ts'
import type { Plot } from './plot.ts'
import { CALLERS, SERVICE, SHOP, type TimedScenario } from './scenario.ts'
import type { ChartName, SeriesName, Words } from './words.ts'

/** A run, over or not, and what it is a run of. */
export interface Seen {
	readonly scenario: TimedScenario
	readonly result: SimulationResult
	readonly isOver: boolean
}

interface Line {
	readonly name: SeriesName
	/** In each step; undefined where there is no such service. */
	of(result: SimulationResult): readonly number[] | undefined
}

interface Sketch {
	readonly areas: readonly Line[]
	readonly lines: readonly Line[]
	/** What is kept of the run before: the first of these that it has. */
	readonly kept: readonly Line[]
	/** Counted in a step, and drawn for a second. */
	readonly isRate: boolean
	readonly capacity: boolean
}

const callers = ({ timeline }: SimulationResult) => timeline.clients[CALLERS]
const service = ({ timeline }: SimulationResult) => timeline.services[SERVICE]

const LINES: { readonly [Name in Exclude<SeriesName, 'capacity' | 'before'>]: Line['of'] } = {
	// Those that a shop gets can not be compared with what the service behind it can do.
	calls: (result) => (result.timeline.services[SHOP] ? undefined : callers(result)?.started),
	requests: (result) => service(result)?.requests,
	good: (result) => callers(result)?.good,
	bad: (result) => callers(result)?.bad,
	useful: (result) => service(result)?.useful,
	wasted: (result) => service(result)?.wasted,
	waiting: (result) => service(result)?.queue,
	waitingAtShop: ({ timeline }) => timeline.services[SHOP]?.queue,
}

const lines = (...names: readonly (keyof typeof LINES)[]): readonly Line[] =>
	names.map((name) => ({ name, of: LINES[name] }))

const SKETCHES: Readonly<Record<ChartName, Sketch>> = {
	requests: {
		areas: [],
		lines: lines('calls', 'requests'),
		kept: lines('requests'),
		isRate: true,
		capacity: true,
	},
	answers: { areas: lines('good', 'bad'), lines: [], kept: lines('good'), isRate: true, capacity: false },
	work: { areas: lines('useful', 'wasted'), lines: [], kept: lines('useful'), isRate: true, capacity: true },
	queue: {
		areas: [],
		lines: lines('waiting', 'waitingAtShop'),
		kept: lines('waitingAtShop', 'waiting'),
		isRate: false,
		capacity: false,
	},
}

export const CHART_NAMES: readonly ChartName[] = Object.keys(SKETCHES) as ChartName[]

/** The colours of the pictures, by what they stand for: what is good is blue, what is bad is orange, in every plot. */
const COLOURS: Readonly<Record<SeriesName, string>> = {
	calls: 's2',
	requests: 's0',
	capacity: 'reference',
	good: 's0',
	bad: 's1',
	useful: 's0',
	wasted: 's1',
	waiting: 's0',
	waitingAtShop: 's1',
	before: 'before',
}

/** What a plot shows, for its legend: the name and how it is drawn. */
export interface LegendItem {
	readonly name: SeriesName
	readonly kind: 'line' | 'area'
	readonly colour: string
}

export function legendOf(
	chart: ChartName,
	{ result }: Seen,
	before: Seen | undefined,
): readonly LegendItem[] {
	const { areas, lines: drawn, capacity } = SKETCHES[chart]
	const item = (name: SeriesName, kind: LegendItem['kind']) => ({ name, kind, colour: COLOURS[name] })
	return [
		...areas.map(({ name }) => item(name, 'area')),
		...drawn.filter(({ of }) => of(result)).map(({ name }) => item(name, 'line')),
		...(capacity && capacityIn(result) !== undefined ? [item('capacity', 'line')] : []),
		...(before ? [item('before', 'line')] : []),
	]
}

export function plotOf(chart: ChartName, seen: Seen, before: Seen | undefined, words: Words): Plot {
	const { areas, lines: drawn, kept, isRate, capacity } = SKETCHES[chart]
	const { scenario, result } = seen
	const { stepMs } = result.timeline
	const count = Math.ceil(scenario.duration / stepMs)
	const known = knownSteps(seen)
	const factor = isRate ? 1_000 / stepMs : 1
	const drawnOf = (run: SimulationResult, of: Line['of'], length: number): Values | undefined => {
		const values = of(run)
		return (
			values &&
			Array.from({ length: count }, (_, step) => (step < length ? (values[step] ?? 0) * factor : null))
		)
	}
	const seriesOf = (run: SimulationResult, given: readonly Line[], length: number) =>
		given.flatMap(({ name, of }) => {
			const values = drawnOf(run, of, length)
			return values ? [{ name, values }] : []
		})
	const [stack, strokes] = [seriesOf(result, areas, known), seriesOf(result, drawn, known)]
	const shadow = before ? seriesOf(before.result, kept, knownSteps(before)).slice(0, 1) : []
	const level = capacity ? capacityIn(result) : undefined
	return {
		description: [
			words.charts[chart],
			...[...stack, ...strokes].map(({ name, values }) => inWords(name, values)),
		].join(' '),
		// In the middle of its step.
		x: Array.from({ length: count }, (_, step) => ((step + 0.5) * stepMs) / 1_000),
		xLabel: words.seconds,
		endX: scenario.duration / 1_000,
		areas: stack,
		lines: [...shadow.map(({ values }) => ({ name: 'before', values })), ...strokes],
		references: level === undefined ? [] : [{ value: level, label: words.series.capacity }],
		faults: faultsOf(scenario, words),
		colorOf: (name) => COLOURS[name as SeriesName],
	}

	function inWords(name: SeriesName, values: Values): string {
		const numbers = values.filter((value) => value !== null)
		const [most, last] = [Math.max(0, ...numbers), numbers.at(-1) ?? 0]
		return words.described(words.series[name], formatSignificant(most), formatSignificant(last))
	}
}

/** A step that is not over yet has not all of its events. */
const knownSteps = ({ result: { endedAtMs, timeline }, isOver }: Seen): number =>
	isOver ? Math.ceil(endedAtMs / timeline.stepMs) : Math.floor(endedAtMs / timeline.stepMs)

const capacityIn = ({ services }: SimulationResult): number | undefined =>
	services[SERVICE]?.capacityPerSecond ?? undefined

function faultsOf({ services }: TimedScenario, { options }: Words): Plot['faults'] {
	const model = services[SERVICE]
	const faults = model && model.kind !== 'optimistic-lock' ? (model.faults ?? []) : []
	return faults.map((fault) => ({
		from: fault.fromMs / 1_000,
		to: fault.toMs / 1_000,
		label: options.fault[fault.kind === 'outage' ? (fault.mode ?? 'refuse') : fault.kind],
	}))
}
