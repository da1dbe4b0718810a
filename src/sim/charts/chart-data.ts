/** The input of a time chart: lists of values over a common x axis, in one panel per variant or measure. */
import { formatSignificant } from '../../text/format.ts'
import { isDrawable } from './scale.ts'

/** One value for each x. Null and NaN are gaps: the mean of no runs is one. */
export type Values = readonly (number | null)[]

/** One line, or one layer of a stack. */
export interface Series {
	readonly name: string
	readonly values: Values
	/** The range of several runs around the line. Not drawn in a stack. */
	readonly range?: { readonly low: Values; readonly high: Values } | undefined
}

export interface FaultBand {
	readonly from: number
	/** Infinity if the fault does not end. */
	readonly to: number
	readonly label: string
}

/** A horizontal line to compare with, such as a capacity. */
export interface ReferenceLine {
	readonly value: number
	readonly label: string
}

/** One of several plots below each other over the same x axis. */
export interface Panel {
	readonly title: string
	readonly series: readonly Series[]
	readonly references?: readonly ReferenceLine[] | undefined
	/** Replaces the faults of the chart, where panels differ in them. Panels that share a list get one label. */
	readonly faults?: readonly FaultBand[] | undefined
}

export interface TimeChart {
	readonly title: string
	readonly subtitle: string
	/** What limits the result, below the subtitle. */
	readonly notes?: readonly string[] | undefined
	/** What the values belong to, such as `requests to api`. Only for screen readers: put it into the subtitle to show it. */
	readonly subject?: string | undefined
	/** In ascending order. */
	readonly x: readonly number[]
	readonly xLabel: string
	readonly yLabel?: string | undefined
	/** What the range of a series stands for. */
	readonly rangeLabel?: string | undefined
	readonly faults?: readonly FaultBand[] | undefined
	readonly panels: readonly Panel[]
	/** Whether panels share one y axis, so that they can be compared. Default `'common'`. */
	readonly scale?: 'common' | 'own' | undefined
}

/** Returns each series name once, in order of appearance. A name has the same color in every panel. */
export function seriesNames(panels: readonly Panel[]): readonly string[] {
	return [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))]
}

/** Returns the chart in words, for screen readers: what is drawn, its peak and its last value. */
export function describeChart(chart: TimeChart): string {
	const { subject = '', subtitle, notes = [], x, xLabel, yLabel, faults = [], panels } = chart
	const [first, last] = [x[0], x.at(-1)]
	const range =
		first === undefined || last === undefined
			? 'no data'
			: `${formatSignificant(first)} to ${formatSignificant(last)} ${xLabel}`
	return [
		subject,
		subtitle,
		[yLabel, range].filter(Boolean).join(', '),
		...faults.map(describeFault),
		...panels.flatMap(describePanel),
		...notes,
	]
		.filter(Boolean)
		.map((sentence) => (sentence.endsWith('.') ? sentence : `${sentence}.`))
		.join(' ')
}

const describeFault = ({ from, to, label }: FaultBand): string =>
	`${label} from ${formatSignificant(from)} to ${to === Infinity ? 'the end' : formatSignificant(to)}`

function describePanel({ title, series, references = [], faults = [] }: Panel): readonly string[] {
	const named = (text: string): string => (title === '' || title === text ? text : `${title}, ${text}`)
	return [
		...faults.map((fault) => named(describeFault(fault))),
		...references.map(({ value, label }) => `${label} at ${formatSignificant(value)}`),
		...series.map(({ name, values }) => {
			const known = values.filter(isDrawable)
			const last = known.at(-1)
			const peak = known.reduce((most, value) => Math.max(most, value), -Infinity)
			const summary =
				last === undefined
					? 'no data'
					: `at most ${formatSignificant(peak)}, ${formatSignificant(last)} at the end`
			return `${named(name)}: ${summary}`
		}),
	]
}
