/** One figure that the project must reach, and what was measured for it. */
export interface Figure {
	readonly figure: string
	readonly asked: string
	readonly measured: string
	readonly reached: boolean
}

export interface Report {
	readonly title: string
	readonly lines: readonly string[]
	readonly figures: readonly Figure[]
	readonly data: unknown
}

export const times = (ratio: number): string => `${ratio.toFixed(2)} x`
