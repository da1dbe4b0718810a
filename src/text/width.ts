/**
 * The width of a text, and what depends on it: padding, truncating and wrapping. A terminal shows East Asian
 * characters and most emoji two columns wide and combining marks zero columns wide, so `length` misaligns
 * every table that contains them.
 */

/** East Asian characters that are as wide as they are high. */
const WIDE = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u
const WIDE_IN_TERMINAL = /[\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u
const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u
const PRINTABLE_ASCII = /^[ -~]*$/

const ELLIPSIS = '…'

/** Returns the width of a text: columns in a terminal, pixels in an SVG. */
export type Measure = (text: string) => number

export type Align = 'left' | 'right'

/** Returns whether the character is a wide East Asian one, between which a line may break. */
export const isWide = (character: string): boolean => WIDE.test(character)

/** Returns the number of terminal columns that a text without color codes takes: 6 for `八起き`. */
export function displayWidth(text: string): number {
	if (PRINTABLE_ASCII.test(text)) return text.length
	let width = 0
	for (const character of text) {
		if (ZERO_WIDTH.test(character)) continue
		width += WIDE.test(character) || WIDE_IN_TERMINAL.test(character) ? 2 : 1
	}
	return width
}

/** Fills a text with spaces up to `width` columns. A wider text is returned unchanged. */
export function pad(text: string, width: number, align: Align = 'left'): string {
	const spaces = ' '.repeat(Math.max(0, width - displayWidth(text)))
	return align === 'left' ? text + spaces : spaces + text
}

/** Returns the text if it fits into `width`, otherwise what fits before an ellipsis: `a rathe…`. */
export function truncate(text: string, width: number, measure: Measure = displayWidth): string {
	if (measure(text) <= width) return text
	let start = ''
	for (const character of text) {
		if (measure(start + character + ELLIPSIS) > width) break
		start += character
	}
	return `${start.trimEnd()}${ELLIPSIS}`
}

/**
 * What happens to a word that is wider than a line: it stays whole (commands in help texts must survive copy
 * and paste), is truncated, or continues on the next line.
 */
export type LongWords = 'keep' | 'truncate' | 'break'

/** Splits a text into lines of at most `width`, at white space and between East Asian characters. */
export function wrap(
	text: string,
	width: number,
	longWords: LongWords = 'keep',
	measure: Measure = displayWidth,
): string[] {
	const lines: string[] = []
	let line = ''
	for (const piece of piecesOf(text)) {
		if (line !== '' && measure((line + piece).trimEnd()) > width) {
			lines.push(line.trimEnd())
			line = ''
		}
		line += line === '' ? piece.trimStart() : piece
	}
	if (line.trim() !== '') lines.push(line.trimEnd())
	if (longWords === 'keep') return lines
	if (longWords === 'truncate') return lines.map((one) => truncate(one, width, measure))
	return lines.flatMap((one) => breakWord(one, width, measure))
}

/** Words with the space after them, and each wide character separately. */
const PIECES = new RegExp(`${WIDE.source}\\s*|(?:(?!${WIDE.source})\\S)+\\s*|\\s+`, 'gu')
const piecesOf = (text: string): readonly string[] => text.replace(/\s+/gu, ' ').match(PIECES) ?? []

function breakWord(word: string, width: number, measure: Measure): string[] {
	if (measure(word) <= width) return [word]
	const lines: string[] = []
	let line = ''
	for (const character of word) {
		if (line !== '' && measure(line + character) > width) {
			lines.push(line)
			line = ''
		}
		line += character
	}
	return [...lines, line]
}
