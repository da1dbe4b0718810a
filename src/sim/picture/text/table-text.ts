/** Tables in a terminal, by what is seen and not by the length of strings. */

import { plainLine } from '../escape.ts'
import { alignOf, cellText, type Table } from '../table.ts'
import { shortened } from '../text-width.ts'
import { displayWidth, padded } from './display-width.ts'
import { type TextOptions, terminalOf } from './terminal.ts'

const BETWEEN = '   '
const NARROWEST = 8

/**
 * A table in aligned columns. Where it is wider than the terminal, its widest columns are shortened.
 *
 * @example
 * console.log(tableText({ head: ['strategy', 'calls'], rows: [['naive', 105_149], ['full jitter', 11_371]] }))
 */
export function tableText(table: Table, options?: TextOptions): string {
	const { width, paint } = terminalOf(options)
	const rows = [...(table.head ? [table.head] : []), ...table.rows].map((row) =>
		row.map((cell) => plainLine(cellText(cell))),
	)
	const widths = fitted(naturalWidths(rows), width)
	const lines = rows.map((row) => {
		const cells = row.map((text, column) => {
			const room = widths[column] ?? 0
			return padded(shortened(text, room, displayWidth), room, alignOf(table, column))
		})
		return cells.join(BETWEEN).trimEnd()
	})
	if (!table.head) return lines.join('\n')
	const [head = '', ...body] = lines
	const rule = widths.map((size) => '─'.repeat(size)).join(BETWEEN)
	return [paint(head, 'bold'), paint(rule, 'dim'), ...body].join('\n')
}

function naturalWidths(rows: readonly (readonly string[])[]): readonly number[] {
	const columns = Math.max(0, ...rows.map((row) => row.length))
	return Array.from({ length: columns }, (_, column) =>
		Math.max(0, ...rows.map((row) => displayWidth(row[column] ?? ''))),
	)
}

/** The widest gives way first, down to what still says something. */
function fitted(natural: readonly number[], room: number): readonly number[] {
	const widths = [...natural]
	const total = () => widths.reduce((sum, width) => sum + width, (widths.length - 1) * BETWEEN.length)
	while (total() > room) {
		const widest = widths.indexOf(Math.max(...widths))
		const size = widths[widest] ?? 0
		if (size <= NARROWEST) break
		widths[widest] = size - 1
	}
	return widths
}
