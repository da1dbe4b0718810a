/**
 * Tables in a terminal, by what is seen and not by the length of strings. A figure without its last digits or its unit is a
 * wrong one, so figures are never shortened: where a table is too wide, the names in its first column go on in the next line,
 * and where that is not enough it becomes several tables with the same names.
 */

import { plainLine } from '../escape.ts'
import { type Align, alignOf, cellText, type Table } from '../table.ts'
import { displayWidth, padded } from './display-width.ts'
import { type Terminal, type TextOptions, terminalOf } from './terminal.ts'

const BETWEEN = '   '
/** Names are not wrapped to less than this while the figures can stand in several tables. */
const READABLE = 24
const NARROWEST = 8
const INDENT = '  '

/**
 * A table in aligned columns. Where it is wider than the terminal, names are wrapped and columns go into further tables; a single
 * figure that is wider than the terminal stays as wide as it is.
 *
 * @example
 * console.log(tableText({ head: ['strategy', 'calls'], rows: [['naive', 105_149], ['full jitter', 11_371]] }))
 */
export function tableText(table: Table, options?: TextOptions): string {
	const terminal = terminalOf(options)
	const rows = [...(table.head ? [table.head] : []), ...table.rows].map((row) =>
		row.map((cell) => plainLine(cellText(cell))),
	)
	const count = Math.max(0, ...rows.map((row) => row.length))
	const columns = Array.from({ length: count }, (_, column): Column => {
		const texts = rows.map((row) => row[column] ?? '')
		return { texts, width: Math.max(...texts.map(displayWidth)), align: alignOf(table, column) }
	})
	const [names, ...figures] = columns
	if (!names) return rows.map(() => '').join('\n')
	return partsOf(names.width, figures, terminal.width)
		.map((part) => {
			const room = Math.max(NARROWEST, terminal.width - widthOf(part))
			return tableLines({ ...names, width: Math.min(names.width, room) }, part, !!table.head, terminal)
		})
		.map((lines) => lines.join('\n'))
		.join('\n\n')
}

interface Column {
	/** By row, the head's first. */
	readonly texts: readonly string[]
	readonly width: number
	readonly align: Align
}

/** Of figures, with the gaps before them. */
const widthOf = (figures: readonly Column[]): number =>
	figures.reduce((sum, { width }) => sum + BETWEEN.length + width, 0)

/** Figures that stand beside the names in one table each: as few tables as can be, and about as many figures in each. */
function partsOf(names: number, figures: readonly Column[], room: number): readonly (readonly Column[])[] {
	const fits = (part: readonly Column[]) => Math.min(names, READABLE) + widthOf(part) <= room
	const parts: Column[][] = [[]]
	for (const figure of figures) {
		const last = parts.at(-1)
		if (last && (last.length === 0 || fits([...last, figure]))) last.push(figure)
		else parts.push([figure])
	}
	const each = Math.ceil(figures.length / parts.length)
	const even = parts.map((_, index) => figures.slice(index * each, (index + 1) * each))
	return even.every((part) => part.length > 0 && fits(part)) ? even : parts
}

function tableLines(
	names: Column,
	figures: readonly Column[],
	hasHead: boolean,
	{ paint }: Terminal,
): readonly string[] {
	const rows = names.texts.map((name, row) => {
		const [first = '', ...more] = nameLines(name, names.width)
		const cells = figures.map(({ texts, width, align }) => padded(texts[row] ?? '', width, align))
		const line = [padded(first, names.width, names.align), ...cells].join(BETWEEN).trimEnd()
		const inner = names.width - INDENT.length
		return [line, ...more.map((rest) => (INDENT + padded(rest, inner, names.align)).trimEnd())]
	})
	if (!hasHead) return rows.flat()
	const [head = [], ...body] = rows
	const rule = [names, ...figures].map(({ width }) => '─'.repeat(width)).join(BETWEEN)
	return [...head.map((line) => paint(line, 'bold')), paint(rule, 'dim'), ...body.flat()]
}

/** A name in lines that lack nothing of it, all but the first to be indented; a word breaks only if it is wider than a line. */
function nameLines(name: string, width: number): readonly string[] {
	const lines: string[] = []
	let line = ''
	const isOver = (text: string) =>
		line !== '' && displayWidth(text.trimEnd()) > width - (lines.length === 0 ? 0 : INDENT.length)
	const next = () => {
		lines.push(line.trimEnd())
		line = ''
	}
	for (const word of name.split(/(?<= )/)) {
		if (isOver(line + word)) next()
		for (const character of word) {
			if (isOver(line + character)) next()
			line += character
		}
	}
	return [...lines, line.trimEnd()]
}
