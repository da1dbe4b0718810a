/**
 * How many columns a text takes in a terminal: two for the wide characters of East Asia and for most emoji, none for marks
 * that combine with what is before them. Padding by `length` would bend every table that has a Japanese title in it.
 */
import { plainLine } from '../escape.ts'
import { WIDE } from '../text-width.ts'

const ALSO_WIDE = /[\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u

/**
 * The columns of a text without colours.
 *
 * @example
 * displayWidth('八起き') // 6
 */
export function displayWidth(text: string): number {
	let width = 0
	for (const character of text) {
		if (NO_WIDTH.test(character)) continue
		width += WIDE.test(character) || ALSO_WIDE.test(character) ? 2 : 1
	}
	return width
}

/** The text on one line and without anything that a terminal would obey, filled up with spaces behind or before it. */
export function padded(text: string, width: number, side: 'left' | 'right'): string {
	const plain = plainLine(text)
	const spaces = ' '.repeat(Math.max(0, width - displayWidth(plain)))
	return side === 'left' ? plain + spaces : spaces + plain
}
