/**
 * Tables as text, aligned by display width. A figure without its last digits or its unit is wrong, so figures
 * are never truncated: if a table is too wide, the names in its first column wrap, and if that is not enough
 * the columns are split over several tables that repeat the names.
 */
import { formatSignificant } from './format.ts'
import { sanitizeLine } from './sanitize.ts'
import { PLAIN, type TextStyle } from './style.ts'
import { type Align, displayWidth, pad, wrap } from './width.ts'

/** Rows of cells, with an optional head. */
export interface Table {
	readonly head?: readonly string[] | undefined
	/** Numbers get about three significant digits; otherwise pass a text. Rows may differ in length. */
	readonly rows: readonly (readonly (string | number)[])[]
	/** The alignment of each column. Default: the first column (names) to the left, the others (figures) to the right. */
	readonly align?: readonly Align[] | undefined
}

export interface TableOptions {
	/** Columns of the terminal. Default 80, at least 20. */
	readonly width?: number | undefined
	readonly style?: TextStyle | undefined
}

export const cellText = (cell: string | number): string =>
	typeof cell === 'string' ? cell : formatSignificant(cell)

export const columnAlign = ({ align }: Table, column: number): Align =>
	align?.[column] ?? (column === 0 ? 'left' : 'right')

const GAP = '   '
const INDENT = '  '
/** Names keep at least this width as long as the figures can be split over several tables. */
const READABLE_NAME = 24
const MIN_NAME = 8
const MIN_WIDTH = 20

/** Formats a table in aligned columns. Columns without any text are left out. */
export function formatTable(table: Table, { width = 80, style = PLAIN }: TableOptions = {}): string {
	const room = Math.max(MIN_WIDTH, width)
	const rows = [...(table.head ? [table.head] : []), ...table.rows].map((row) =>
		row.map((cell) => sanitizeLine(cellText(cell))),
	)
	const count = Math.max(0, ...rows.map((row) => row.length))
	const columns = Array.from({ length: count }, (_, column): Column => {
		const texts = rows.map((row) => row[column] ?? '')
		return { texts, width: Math.max(...texts.map(displayWidth)), align: columnAlign(table, column) }
	})
	const [names, ...figures] = columns.filter((column) => column.width > 0)
	if (!names) return rows.map(() => '').join('\n')
	return splitColumns(names.width, figures, room)
		.map((part) => {
			const nameWidth = Math.min(names.width, Math.max(MIN_NAME, room - widthOf(part)))
			return tableLines({ ...names, width: nameWidth }, part, table.head !== undefined, style).join('\n')
		})
		.join('\n\n')
}

interface Column {
	/** One text per row, the head first. */
	readonly texts: readonly string[]
	readonly width: number
	readonly align: Align
}

const widthOf = (columns: readonly Column[]): number =>
	columns.reduce((sum, { width }) => sum + GAP.length + width, 0)

/** Distributes figure columns over as few tables as possible, about as many in each. */
function splitColumns(nameWidth: number, figures: readonly Column[], room: number): readonly Column[][] {
	const fits = (part: readonly Column[]) => Math.min(nameWidth, READABLE_NAME) + widthOf(part) <= room
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

function tableLines(names: Column, figures: readonly Column[], hasHead: boolean, style: TextStyle): string[] {
	const rows = names.texts.map((name, row) => {
		const isLong = displayWidth(name) > names.width
		const [first = '', ...more] = isLong ? wrap(name, names.width - INDENT.length, 'break') : [name]
		const cells = figures.map(({ texts, width, align }) => pad(texts[row] ?? '', width, align))
		const line = [pad(first, names.width, names.align), ...cells].join(GAP).trimEnd()
		const inner = names.width - INDENT.length
		return [line, ...more.map((rest) => (INDENT + pad(rest, inner, names.align)).trimEnd())]
	})
	if (!hasHead) return rows.flat()
	const [head = [], ...body] = rows
	const rule = [names, ...figures].map(({ width }) => '─'.repeat(width)).join(GAP)
	return [...head.map((line) => style.bold(line)), style.dim(rule), ...body.flat()]
}

/** A left column wider than this gets a line of its own. */
const MAX_LEFT = 34
/** Longer lines are hard to read, however wide the terminal is. */
const MAX_LINE = 110

/** Formats pairs in two columns, as in `--help`. The right column wraps; words are never broken. */
export function formatPairs(
	pairs: readonly (readonly [left: string, right: string])[],
	width: number,
): string[] {
	const lefts = pairs.map(([left]) => displayWidth(left)).filter((size) => size <= MAX_LEFT)
	const start = INDENT.length + Math.max(0, ...lefts) + GAP.length
	const margin = ' '.repeat(start)
	return pairs.flatMap(([left, right]) => {
		const [first = '', ...more] = wrap(right, Math.min(width, MAX_LINE) - start)
		const isWide = displayWidth(left) > MAX_LEFT
		const head = isWide ? [INDENT + left, margin + first] : [pad(INDENT + left, start) + first]
		return [...head, ...more.map((line) => margin + line)].map((line) => line.trimEnd())
	})
}
