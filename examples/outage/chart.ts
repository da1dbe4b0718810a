/** Draws a run: one column a second, its height the calls of that second. */
import type { Model, Second } from './model.ts'

const BLOCKS = ' ▁▂▃▄▅▆▇█'
const MARGIN = ' '.repeat(7)

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const
export type Paint = (color: keyof typeof CODES, text: string) => string

/** Colours for a terminal; plain text for pipes and files, and for whoever has set NO_COLOR. */
export function painter(isTerminal: boolean, noColor: string | undefined): Paint {
	if (!isTerminal || noColor) return (_, text) => text
	return (color, text) => `\x1b[${CODES[color]}m${text}\x1b[0m`
}

export const thousands = (value: number): string => value.toLocaleString('en-US')

/** How many calls a row of blocks stands for: a multiple of the capacity that makes `peak` at most eight rows. */
export function callsPerRow({ capacity }: Model, peak: number): number {
	return Math.ceil(peak / 8 / capacity) * capacity
}

export function chart(
	model: Model,
	seconds: readonly Second[],
	rowCalls: number,
	paint: Paint,
): readonly string[] {
	// A column that passes a row by less than the smallest block shows does not open another one.
	const rows = Math.max(...seconds.map(({ calls }) => Math.ceil(calls / rowCalls - 1 / 16)))
	const bars = Array.from({ length: rows }, (_, row) => {
		const below = (rows - 1 - row) * rowCalls
		const label = thousands(below + rowCalls).padStart(MARGIN.length - 1)
		const cells = columns(model, seconds, paint, ({ calls }) => block((calls - below) / rowCalls))
		return `${label} ┤${cells}`.trimEnd()
	})
	return [
		...bars,
		`${MARGIN}└${columns(model, seconds, paint, (_, state) => STATES[state].mark)}`,
		`${MARGIN} ${ticks(seconds.length)}`,
	]
}

const block = (share: number): string => BLOCKS.charAt(Math.max(0, Math.min(8, Math.round(share * 8))))

/** How the service was in a second: as a colour, and as a mark for those who see none. */
const STATES = {
	down: { mark: '×', color: 'yellow' },
	overloaded: { mark: '!', color: 'red' },
	well: { mark: '─', color: 'green' },
} as const

function columns(
	{ downFromMs, upAgainMs }: Model,
	seconds: readonly Second[],
	paint: Paint,
	draw: (second: Second, state: keyof typeof STATES) => string,
): string {
	const cells = seconds.map((second, index) => {
		const isDown = index * 1_000 >= downFromMs && index * 1_000 < upAgainMs
		const state = isDown ? 'down' : second.refused > 0 ? 'overloaded' : 'well'
		return paint(STATES[state].color, draw(second, state))
	})
	return cells.join('')
}

function ticks(length: number): string {
	const tens = Array.from({ length: Math.floor(length / 10) }, (_, ten) => String(ten * 10).padEnd(10))
	return `${tens.join('')}${length} s`
}

/** A label and a value for each strategy, in columns. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
	return rows.map(([label = '', ...values]) =>
		[label.padEnd(42), ...values.map((value) => value.padStart(16))].join(''),
	)
}
