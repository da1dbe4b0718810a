/**
 * How wide a text will be, without anybody to measure it. The estimate is that of a wide typeface, so that a label may
 * leave some room but never runs into its neighbour. Asking a browser would be exact, and would bind the charts to one.
 */

/** The scripts of East Asia, whose characters are as wide as they are high. */
export const WIDE: RegExp =
	/[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]/u
const BROAD = /[mwMW@%—…]/u
const NARROW = /[iIjlftr.,:;|!'()[\]{}/ -]/u

const ELLIPSIS = '…'

/** In units of the font's size. */
function emWidth(character: string): number {
	if (WIDE.test(character)) return 1
	if (character.length > 1) return 1.4
	if (BROAD.test(character)) return 1
	if (NARROW.test(character)) return 0.42
	return /\p{Lu}/u.test(character) ? 0.74 : 0.65
}

/** An upper estimate in pixels. */
export function textWidth(text: string, fontSize: number): number {
	let ems = 0
	for (const character of text) ems += emWidth(character)
	return ems * fontSize
}

/** How a text is measured: in pixels for a picture, in columns for a terminal. */
export type Measure = (text: string) => number

/** Pixels at a font size. */
export const inPixels =
	(fontSize: number): Measure =>
	(text) =>
		textWidth(text, fontSize)

/** The text, or as much of it as fits with an ellipsis at its end. */
export function shortened(text: string, room: number, measure: Measure): string {
	if (measure(text) <= room) return text
	let kept = ''
	for (const character of text) {
		if (measure(kept + character + ELLIPSIS) > room) break
		kept += character
	}
	return `${kept.trimEnd()}${ELLIPSIS}`
}

/** The text in lines that fit. A word too long for a line is shortened; a language without spaces breaks anywhere. */
export function wrapped(text: string, room: number, measure: Measure): readonly string[] {
	const lines: string[] = []
	let line = ''
	for (const piece of pieces(text)) {
		if (line !== '' && measure((line + piece).trimEnd()) > room) {
			lines.push(line.trimEnd())
			line = ''
		}
		line += line === '' ? piece.trimStart() : piece
	}
	if (line.trim() !== '') lines.push(line.trimEnd())
	return lines.map((one) => shortened(one, room, measure))
}

/** Words with the space after them, and every wide character on its own. */
const pieces = (text: string): readonly string[] =>
	text.match(new RegExp(`${WIDE.source}\\s*|(?:(?!${WIDE.source})\\S)+\\s*|\\s+`, 'gu')) ?? []
