/** A chart in words, for those who hear it instead of seeing it: what is drawn, its peak and where it ends. */
import { DEFAULT_X_LABEL, type Panel, panelsOf, panelTitle, type TimeChart, type Values } from './chart.ts'
import { roughly } from './figure.ts'
import { drawable } from './scale.ts'

export function describeChart(chart: TimeChart): string {
	const { subtitle, x, xLabel = DEFAULT_X_LABEL, yLabel, shades = [], lines = [] } = chart
	const [first, last] = [x[0], x.at(-1)]
	const range =
		first === undefined || last === undefined ? 'no data' : `${roughly(first)} to ${roughly(last)} ${xLabel}`
	return [
		subtitle,
		[yLabel, range].filter(Boolean).join(', '),
		...shades.map(({ from, to, label = 'shaded' }) => `${label} from ${edge(from)} to ${edge(to)}`),
		...lines.map(({ value, label }) => `${label} at ${roughly(value)}`),
		...panelsOf(chart).flatMap(describePanel),
	]
		.filter(Boolean)
		.map((sentence) => `${sentence}.`)
		.join(' ')
}

/** A shade may be open at either end. */
const edge = (x: number): string =>
	x === Infinity ? 'the end' : x === -Infinity ? 'the beginning' : roughly(x)

function describePanel(panel: Panel): readonly string[] {
	const title = panelTitle(panel)
	return [
		...(panel.lines ?? []).map(({ value, label }) => `${label} at ${roughly(value)}`),
		...panel.series.map(({ name, values }) => {
			const known = values.flatMap((value) => drawable(value) ?? [])
			return `${title === '' || title === name ? name : `${title}, ${name}`}: ${inWords(known)}`
		}),
	]
}

function inWords(known: Values): string {
	const last = known.at(-1)
	if (last === undefined || last === null) return 'no data'
	const greatest = known.reduce<number>((most, value) => Math.max(most, value ?? most), last)
	return `at most ${roughly(greatest)}, ${roughly(last)} at the end`
}
