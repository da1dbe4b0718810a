/** The results: figures, plots and what is said about them. */
import { formatNumber } from '../src/text/format.ts'
import { CHART_NAMES, legendOf, plotOf, type Seen } from './charts.ts'
import { make, setText } from './element.ts'
import { change, FIGURES, type FigureName, type Reading, readingOf, unitOf, written } from './figures.ts'
import { draw } from './plot.ts'
import type { ChartName, Words } from './words.ts'

/** What there is to show: this run, and the one before the last change. */
export interface Shown {
	readonly seen: Seen
	readonly before: Seen | undefined
	readonly words: Words
}

export type Update = (shown: Shown) => void

/** One figure with its name, and how it was before. */
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
	return ({ seen, before, words }) => {
		const now = readingOf(name, seen.result)
		const then = before ? readingOf(name, before.result) : 'unknown'
		// A part of a run can not be compared with a whole one.
		const is = seen.isOver ? change(name, now, then) : undefined
		setText(term, words.figures[name])
		setText(value, text(now))
		setText(compared, is === undefined ? '' : words.compared(is, text(then)))
		box.title = words.about[name]
		compared.dataset['is'] = is ?? ''

		function text(reading: Reading): string {
			if (reading === 'unknown') return words.unknown
			return reading === 'never' ? words.never : written(reading.value, unitOf(name))
		}
	}
}

/** All plots, each with its title and legend above it. They are as wide as there is room for. */
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
	const picture = make('div', { class: 'plot' })
	parent.append(make('figure', {}, make('figcaption', {}, title, unit, legend), picture))
	return (shown) => {
		const { seen, before, words } = shown
		setText(title, words.charts[name])
		setText(unit, words.units[name])
		legend.replaceChildren(
			...legendOf(name, seen, before).map(({ name: series, kind, colour }) =>
				make('span', { class: `item ${kind} ${colour}` }, make('i'), words.series[series]),
			),
		)
		// The one place where markup is set as such: it was made by functions that escape everything.
		picture.innerHTML = draw(
			plotOf(name, seen, before, words),
			Math.max(240, Math.floor(picture.clientWidth)),
		)
	}
}

/** What became of it, in a sentence; nothing while it goes on, for it is read aloud when it changes. */
export function verdict({ seen: { result, isOver }, words }: Shown): string {
	const { recovery, endedAtMs, endedBy } = result
	if (!isOver) return ''
	if (endedBy === 'event-limit') return words.cutShort(written(endedAtMs / 1_000, 'seconds'))
	if (recovery === null) return words.calm()
	const { recoveredAfterMs, faultEndedAtMs } = recovery
	if (recoveredAfterMs !== null) return words.recovered(written(recoveredAfterMs, 'ms'))
	return words.stuck(written(endedAtMs - faultEndedAtMs, 'ms'))
}

/** How far a run has come; and of one that is over, by what it can be told to be the same as another. */
export function progress({ seen: { scenario, result, isOver }, words }: Shown): string {
	if (isOver) return words.trace(formatNumber(result.events), result.traceHash)
	return words.running(
		written(Math.floor(result.endedAtMs / 1_000), 'seconds'),
		written(scenario.duration / 1_000, 'seconds'),
	)
}
