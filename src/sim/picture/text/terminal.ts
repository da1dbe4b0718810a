/**
 * What all pictures in text share: how wide they may be, and colours that can be switched off. A colour never says anything
 * that a name or a character does not say as well.
 */
import { checkRange } from '../../../core/options/schema.ts'
import { plainLine } from '../escape.ts'
import { wrapped } from '../text-width.ts'
import { displayWidth } from './display-width.ts'

export interface TextOptions {
	/** Columns of the terminal, 20 or more. Default 80. */
	readonly width?: number | undefined
	/** Default false: plain text, as for pipes and files. */
	readonly colour?: boolean | undefined
}

const CODES = {
	bold: '1',
	dim: '2',
	red: '31',
	green: '32',
	yellow: '33',
	blue: '34',
	magenta: '35',
	cyan: '36',
}

export type Style = keyof typeof CODES

/** A text in a style, or in none. */
export type Paint = (text: string, style: Style | undefined) => string

export interface Terminal {
	readonly width: number
	readonly paint: Paint
}

export function terminalOf({ width = 80, colour = false }: TextOptions = {}): Terminal {
	checkRange('width', width, 20)
	const paint: Paint = (text, style) => (style && text ? `\x1b[${CODES[style]}m${text}\x1b[0m` : text)
	return { width: Math.floor(width), paint: colour ? paint : (text) => text }
}

const SERIES: readonly Style[] = ['cyan', 'yellow', 'green', 'magenta', 'blue', 'red']

export const seriesStyle = (index: number): Style => SERIES[index % SERIES.length] ?? 'cyan'

/** One place in a picture. */
export interface Cell {
	readonly text: string
	readonly style?: Style | undefined
}

/** Cells as text, each run of one style painted at once, and nothing blank at the end. */
export function paintCells(cells: readonly Cell[], paint: Paint): string {
	const end = cells.findLastIndex(({ text }) => text.trim() !== '') + 1
	let line = ''
	let run = ''
	cells.slice(0, end).forEach(({ text, style }, index) => {
		run += text
		if (cells[index + 1]?.style === style && index + 1 < end) return
		line += paint(run, style)
		run = ''
	})
	return line
}

/** A text in lines that fit. */
export function textLines(
	text: string | undefined,
	{ width, paint }: Terminal,
	style?: Style,
): readonly string[] {
	return wrapped(plainLine(text ?? ''), width, displayWidth).map((line) => paint(line, style))
}

/** The title in bold, and the subtitle. */
export function headLines(
	{ title, subtitle }: { readonly title: string; readonly subtitle?: string | undefined },
	terminal: Terminal,
): readonly string[] {
	return [...textLines(title, terminal, 'bold'), ...textLines(subtitle, terminal, 'dim')]
}

/** What a character in a picture stands for. */
export interface KeyEntry extends Cell {
	readonly name: string
}

/** A key in as many lines as it needs; an entry is never torn apart unless it is wider than the line. */
export function keyLines(entries: readonly KeyEntry[], { width, paint }: Terminal): readonly string[] {
	const lines: string[] = []
	let used = width
	for (const { text, style, name } of entries) {
		const [first = '', ...rest] = wrapped(plainLine(name), width - displayWidth(text) - 1, displayWidth)
		const size = displayWidth(`${text} ${first}`)
		const drawn = `${paint(text, style)} ${first}`
		if (used + 3 + size > width) {
			lines.push(drawn)
			used = size
		} else {
			lines.push(`${lines.pop()}   ${drawn}`)
			used += 3 + size
		}
		lines.push(...rest)
		if (rest.length > 0) used = width
	}
	return lines
}

/** Labels that begin at columns, each shown if it touches neither the one before nor the end. */
export function labelRow(
	labels: readonly { readonly at: number; readonly text: string }[],
	room: number,
): string {
	let row = ''
	for (const { at, text } of labels) {
		const used = displayWidth(row)
		if ((used > 0 && at <= used) || at + displayWidth(text) > room) continue
		row += ' '.repeat(at - used) + text
	}
	return row
}
