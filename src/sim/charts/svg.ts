/**
 * The only module that writes markup. It escapes every attribute and text and rounds every number, so no
 * chart can forget to. Rounding also keeps the bytes the same where two engines differ in the last digit of a
 * float.
 */
import { isWide, type Measure, truncate, wrap } from '../../text/width.ts'

/** Lone surrogates, control characters other than tab and line ends, and noncharacters. XML cannot express them even escaped. */
const NOT_IN_XML = /(?![\t\n\r\x7F-\x9F])[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu

const ENTITIES: Readonly<Record<string, string>> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
}

/** Returns text for XML and HTML, between tags and in attributes. */
export function escapeXml(text: string): string {
	return text
		.replace(NOT_IN_XML, '\uFFFD')
		.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

/** Formats a coordinate to a tenth of a pixel. Adding 0 turns -0 into 0. */
export const coordinate = (value: number): string => String(Math.round(value * 10) / 10 + 0)

type Attributes = Readonly<Record<string, string | number | undefined>>

/** Returns an element. `children` must be markup; attributes that are undefined are left out. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
	const written = Object.entries(attributes)
		.filter(([, value]) => value !== undefined)
		.map(
			([key, value]) => ` ${key}="${typeof value === 'number' ? coordinate(value) : escapeXml(`${value}`)}"`,
		)
	const start = `<${name}${written.join('')}`
	return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${name}>`
}

/** Returns a text element. `kind` is its class in the stylesheet. */
export function textAt(
	x: number,
	y: number,
	kind: string,
	text: string,
	anchor: 'start' | 'middle' | 'end' = 'start',
): string {
	const where = anchor === 'start' ? undefined : anchor
	return element('text', { x, y, class: kind, 'text-anchor': where }, escapeXml(text))
}

/** Elements, and the y coordinate where they end. */
export interface Drawing {
	readonly marks: readonly string[]
	readonly bottom: number
}

/** Upper bounds in units of the font size, the first that matches. */
const EM_WIDTHS: readonly (readonly [characters: RegExp, ems: number])[] = [
	[/@/, 1.05],
	[/[mwMW&%—…]/, 1],
	[/[iIjlftr.,:;|!'()[\]{}/ -]/, 0.42],
	[/\p{Lu}/u, 0.78],
	[/./su, 0.65],
]

function emWidth(character: string): number {
	if (isWide(character)) return 1
	if (character.length > 1) return 1.4
	return EM_WIDTHS.find(([characters]) => characters.test(character))?.[1] ?? 1
}

/**
 * Returns an upper estimate of a text's width in pixels. It assumes a wide typeface, because the reader's
 * font is unknown: labels may leave some room but do not overlap. Measuring in a browser would be exact, but
 * would need one.
 */
export function textWidth(text: string, fontSize: number): number {
	let ems = 0
	for (const character of text) ems += emWidth(character)
	return ems * fontSize
}

const inPixels =
	(fontSize: number): Measure =>
	(text) =>
		textWidth(text, fontSize)

export const fitText = (text: string, width: number, fontSize: number): string =>
	truncate(text, width, inPixels(fontSize))

export const wrapText = (text: string, width: number, fontSize: number): readonly string[] =>
	wrap(text, width, 'truncate', inPixels(fontSize))
