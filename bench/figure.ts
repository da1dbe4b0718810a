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

export const bytes = (amount: number): string => `${Math.round(amount).toLocaleString('en-US')} bytes`

/** A name and what was measured for it, in columns. */
export const column = (name: string, ...measured: readonly string[]): string =>
	[name.padEnd(38), ...measured.map((value) => value.padStart(14))].join(' ')
