/** One panel of a dashboard, independent of the program that draws it. */
export interface Panel {
	/** The question that it answers. */
	readonly title: string
	/** How to read it. */
	readonly description: string
	/** `lines` over time, `bars` for rare events, `states` for the states of circuits, `number` for one value over the selected time. */
	readonly kind: 'lines' | 'bars' | 'states' | 'number'
	readonly unit: 'share' | 'seconds' | 'per-second' | 'count'
	readonly queries: readonly PanelQuery[]
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

export const query = (expression: string, legend = '{{service}}'): PanelQuery => ({ expression, legend })
