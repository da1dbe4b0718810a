/** One panel of a dashboard, independent of the program that draws it. */
export interface Panel {
	/** The question that it answers. */
	readonly title: string
	/** How to read it. */
	readonly description: string
	/**
	 * `lines` over time, `bars` for rare events, `states` for the states of circuits, `number` for one value
	 * over the selected time.
	 */
	readonly kind: 'lines' | 'bars' | 'states' | 'number'
	readonly unit: 'share' | 'seconds' | 'per-second' | 'count'
	readonly queries: readonly PanelQuery[]
	/** The colors of a `number`. */
	readonly thresholds?: Thresholds
}

/** From which value on a number needs attention. If `warning` is the higher one, low values are bad. */
export interface Thresholds {
	readonly warning: number
	readonly critical: number
}

export interface PanelQuery {
	readonly expression: string
	/** The name of a series; labels in double braces. */
	readonly legend: string
}

/** Panels under a heading. */
export interface PanelGroup {
	readonly title: string
	readonly panels: readonly Panel[]
}

/** One query of a graph. Two jobs may have the same services, so a series is named after its job too. */
export const query = (expression: string, legend = '{{service}}'): PanelQuery => ({
	expression,
	legend: `{{job}} ${legend}`,
})
