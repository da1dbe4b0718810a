/** The results: figures, plots and a summary. */
import { formatNumber } from '../src/text/format.ts'
import { buildPlot, CHART_NAMES, listLegend, type WatchedRun } from './charts.ts'
import { make, setText } from './element.ts'
import {
	compareFigures,
	FIGURES,
	type FigureName,
	formatValue,
	type Reading,
	readFigure,
	unitOf,
} from './figures.ts'
import { draw } from './plot.ts'
import type { ChartName, Words } from './words.ts'

/** The current run, and the one before the last change. */
export interface Shown {
	readonly run: WatchedRun
	readonly previous: WatchedRun | undefined
	readonly words: Words
}

export type Update = (shown: Shown) => void

/** Adds all figures, each with its name and a comparison with the previous run. */
export function addFigures(list: Element): Update {
	const updates = FIGURES.map((name) => addFigure(list, name))
	return (shown) => {
		for (const update of updates) update(shown)
	}
}

function addFigure(list: Element, name: FigureName): Update {
	const [term, value, compared] = [
		make('dt'),
		make('dd', { 'data-figure': name }),
		make('dd', { class: 'compared' }),
	]
	const box = make('div', {}, term, value, compared)
	list.append(box)
	return ({ run, previous, words }) => {
		const now = readFigure(name, run.result)
		const then = previous ? readFigure(name, previous.result) : 'unknown'
		// A run that is not done is not comparable with a complete one.
		const change = run.isDone ? compareFigures(name, now, then) : undefined
		setText(term, words.figures[name])
		setText(value, text(now))
		setText(compared, change === undefined ? '' : words.compared(change, text(then)))
		box.title = words.descriptions[name]
		compared.dataset['change'] = change ?? ''

		function text(reading: Reading): string {
			if (reading === 'unknown') return words.unknown
			return reading === 'never' ? words.never : formatValue(reading.value, unitOf(name))
		}
	}
}

/** Adds all plots, each with its title and legend above it. They follow the width of the page. */
export function addPlots(parent: Element): Update {
	let latest: Shown | undefined
	const updates = CHART_NAMES.map((name) => addPlot(parent, name))
	const update: Update = (shown) => {
		latest = shown
		for (const one of updates) one(shown)
	}
	new ResizeObserver(() => {
		if (latest) update(latest)
	}).observe(parent)
	return update
}

function addPlot(parent: Element, name: ChartName): Update {
	const [title, unit, legend] = [
		make('strong'),
		make('span', { class: 'unit' }),
		make('span', { class: 'legend' }),
	]
	const container = make('div', { class: 'plot' })
	parent.append(make('figure', {}, make('figcaption', {}, title, unit, legend), container))
	return (shown) => {
		const { run, previous, words } = shown
		setText(title, words.charts[name])
		setText(unit, words.units[name])
		legend.replaceChildren(
			...listLegend(name, run, previous).map(({ name: series, kind, color }) =>
				make('span', { class: `item ${kind} ${color}` }, make('i'), words.series[series]),
			),
		)
		// The only statement that sets markup. The chart functions escape every text.
		container.innerHTML = draw(
			buildPlot(name, run, previous, words),
			Math.max(240, Math.floor(container.clientWidth)),
		)
	}
}

/** Returns the outcome of a run in one sentence. Empty until the run is done, because screen readers announce every change. */
export function describeOutcome({ run: { result, isDone }, words }: Shown): string {
	const { recovery, endedAtMs, endedBy } = result
	if (!isDone) return ''
	if (endedBy === 'event-limit') return words.eventLimit(formatValue(endedAtMs / 1_000, 'seconds'))
	if (recovery === null) return words.noFault()
	const { recoveredAfterMs, faultEndedAtMs, status } = recovery
	if (recoveredAfterMs !== null) return words.recovered(formatValue(recoveredAfterMs, 'ms'))
	const since = formatValue(endedAtMs - faultEndedAtMs, 'ms')
	return status === 'not-shown' ? words.notShown(since) : words.notRecovered(since)
}

/** Returns the progress of a run, or the trace hash of one that is done: equal hashes mean equal runs. */
export function describeProgress({ run: { scenario, result, isDone }, words }: Shown): string {
	if (isDone) return words.trace(formatNumber(result.events), result.traceHash)
	return words.running(
		formatValue(Math.floor(result.endedAtMs / 1_000), 'seconds'),
		formatValue(scenario.durationMs / 1_000, 'seconds'),
	)
}
