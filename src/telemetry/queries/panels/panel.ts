/** One panel of a dashboard, independent of the program that draws it. */
export interface Panel {
	/** The question that it answers. */
	readonly title: string
	/** An explanation of the values. */
	readonly description: string
	/**
	 * `lines` over time, `bars` for rare events, `states` for the states of circuits, `number` for one value
	 * over the selected time.
	 */
	readonly kind: 'lines' | 'bars' | 'states' | 'number'
	readonly unit: 'share' | 'seconds' | 'per-second' | 'count'
	/** A legend names a series; it has labels in double braces. */
	readonly queries: readonly { readonly expression: string; readonly legend: string }[]
	/** The colors of a `number`. */
	readonly thresholds?: Thresholds
}

/** A number needs attention from these values on. If `warning` is the higher one, low values are bad. */
export interface Thresholds {
	readonly warning: number
	readonly critical: number
}

/** Panels under a heading. */
export interface PanelGroup {
	readonly title: string
	readonly panels: readonly Panel[]
}

/** The expressions of a panel, by the name of their series. A text alone has one series for each service. */
type Expressions = string | Readonly<Record<string, string>>

type Graph = (title: string, description: string, unit: Panel['unit'], expressions: Expressions) => Panel

const graph =
	(kind: 'lines' | 'bars' | 'states'): Graph =>
	(title, description, unit, expressions) => {
		const named = typeof expressions === 'string' ? { '{{service}}': expressions } : expressions
		// Two jobs may have the same services, so a series is named after its job too.
		const queries = Object.entries(named).map(([name, expression]) => ({
			expression,
			legend: `{{job}} ${name}`,
		}))
		return { title, description, kind, unit, queries }
	}

export const lines: Graph = graph('lines')
export const bars: Graph = graph('bars')
export const states: Graph = graph('states')
