/** Text in columns that fits into a window. Words are never cut: what is pasted from help must still work. */

export type Row = readonly [left: string, right: string]

const INDENT = '  '
const GAP = 3
/** A left column wider than this would leave no room beside it. */
const WIDEST_LEFT = 34
/** Lines longer than this are hard to read, however wide the window is. */
const WIDEST = 110

/** Two columns; the right one is wrapped, and begins on its own line where the left one is too wide. */
export function twoColumns(rows: readonly Row[], columns: number): string[] {
	const lefts = rows.map(([left]) => left.length).filter((length) => length <= WIDEST_LEFT)
	const start = INDENT.length + Math.max(0, ...lefts) + GAP
	return rows.flatMap(([left, right]) => {
		const [first = '', ...more] = wrap(right, Math.min(columns, WIDEST) - start)
		const isWide = left.length > WIDEST_LEFT
		const head = isWide ? [INDENT + left, ' '.repeat(start) + first] : [(INDENT + left).padEnd(start) + first]
		return [...head, ...more.map((line) => ' '.repeat(start) + line)].map((line) => line.trimEnd())
	})
}

/** Lines of at most so many letters, unless one word is longer. */
export function wrap(text: string, columns: number): string[] {
	const lines: string[] = []
	let line = ''
	for (const word of text.split(/\s+/)) {
		if (line !== '' && line.length + 1 + word.length > columns) {
			lines.push(line)
			line = word
		} else line = line === '' ? word : `${line} ${word}`
	}
	return line === '' ? lines : [...lines, line]
}
