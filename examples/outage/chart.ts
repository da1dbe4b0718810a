/** Draws a run as a bar chart: one column per second, its height the requests of that second. */
import type { Model, Second } from './model.ts'

const BLOCKS = ' ▁▂▃▄▅▆▇█'
const MARGIN = ' '.repeat(7)

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const
export type Paint = (color: keyof typeof CODES, text: string) => string

/** Returns a function that colors texts. Pipes, files and NO_COLOR get plain text. */
export function createPaint(isTerminal: boolean, noColor: string | undefined): Paint {
	if (!isTerminal || noColor) return (_, text) => text
	return (color, text) => `\x1b[${CODES[color]}m${text}\x1b[0m`
}

export const formatNumber = (value: number): string => value.toLocaleString('en-US')

/** Returns the requests per row of blocks: a multiple of the capacity, so that `peak` has at most eight rows. */
export function requestsPerRow({ capacity }: Model, peak: number): number {
	return Math.ceil(peak / 8 / capacity) * capacity
}

export function chart(
	model: Model,
	seconds: readonly Second[],
	perRow: number,
	paint: Paint,
): readonly string[] {
	// A column that exceeds a row by less than the smallest block does not need another row.
	const rows = Math.max(...seconds.map(({ requests }) => Math.ceil(requests / perRow - 1 / 16)))
	const bars = Array.from({ length: rows }, (_, row) => {
		const below = (rows - 1 - row) * perRow
		const label = formatNumber(below + perRow).padStart(MARGIN.length - 1)
		const cells = columns(model, seconds, paint, ({ requests }) => block((requests - below) / perRow))
		return `${label} ┤${cells}`.trimEnd()
	})
	return [
		...bars,
		`${MARGIN}└${columns(model, seconds, paint, (_, state) => STATES[state].mark)}`,
		`${MARGIN} ${ticks(seconds.length)}`,
	]
}

const block = (share: number): string => BLOCKS.charAt(Math.max(0, Math.min(8, Math.round(share * 8))))

/** The state of the service in a second, as a color and as a mark for output without colors. */
const STATES = {
	down: { mark: '×', color: 'yellow' },
	overloaded: { mark: '!', color: 'red' },
	healthy: { mark: '─', color: 'green' },
} as const

function columns(
	{ downFromMs, downToMs }: Model,
	seconds: readonly Second[],
	paint: Paint,
	draw: (second: Second, state: keyof typeof STATES) => string,
): string {
	const cells = seconds.map((second, index) => {
		const isDown = index * 1_000 >= downFromMs && index * 1_000 < downToMs
		const state = isDown ? 'down' : second.rejected > 0 ? 'overloaded' : 'healthy'
		return paint(STATES[state].color, draw(second, state))
	})
	return cells.join('')
}

function ticks(length: number): string {
	const tens = Array.from({ length: Math.floor(length / 10) }, (_, ten) => String(ten * 10).padEnd(10))
	return `${tens.join('')}${length} s`
}

/** Returns a label and a value per strategy, in columns. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
	return rows.map(([label = '', ...values]) =>
		[label.padEnd(42), ...values.map((value) => value.padStart(16))].join(''),
	)
}
