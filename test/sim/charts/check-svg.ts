/**
 * Checks that hold for every chart, on the SVG file itself. Where texts stand is computed from the advance widths of Arial, not
 * from the estimate that placed them: a test with the same estimate would confirm any estimate.
 */
import fc from 'fast-check'
import { expect } from 'vitest'
import { allOf, readXml, type XmlElement } from './xml.ts'

/** The font sizes by class, as in the stylesheet. */
const SIZES: Readonly<Record<string, number>> = { title: 17, subtitle: 13, small: 11, cell: 10 }

/** Advance widths of Arial in thousandths of the font size, for the characters from space to tilde. */
const REGULAR = [
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
	556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
	500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
	556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
	278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
]
const BOLD = [
	278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
	556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278,
	556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584,
	556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556,
	333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
]

/** Returns the width of a text in Arial. Characters beyond ASCII count as one em, as Japanese ones and the ellipsis are. */
export function arialWidth(text: string, size: number, isBold: boolean): number {
	const widths = isBold ? BOLD : REGULAR
	return Array.from(text, (character) => widths[(character.codePointAt(0) ?? 0) - 32] ?? 1_000).reduce(
		(sum, width) => sum + (width * size) / 1_000,
		0,
	)
}

/** Names of characters whose width in Arial is known. */
export const readableName: fc.Arbitrary<string> = fc.oneof(
	fc.stringMatching(/^[ -~]{1,40}$/),
	fc.stringMatching(/^[a-z]{1,12}( [a-z]{1,12}){0,4}$/),
	fc.constantFrom('全ジッター', '七転び八起き '.repeat(12), 'W'.repeat(80), 'x'.repeat(200)),
)

/** Parses a chart and checks its structure. */
export function checkStructure(svg: string): XmlElement {
	const root = readXml(svg)
	expect(root.name).toBe('svg')
	expect(root.attributes).toMatchObject({ role: 'img', xmlns: 'http://www.w3.org/2000/svg' })
	expect(root.children.slice(0, 2).map(({ name }) => name)).toEqual(['title', 'desc'])
	for (const { attributes } of allOf(root)) {
		for (const [name, value] of Object.entries(attributes)) {
			if (name !== 'class') expect(value, name).not.toMatch(/NaN|Infinity|undefined|null|e[+-]?\d|\.\d\d/)
		}
	}
	return root
}

/** Parses a chart and checks its structure, that texts lie within it and that no two of them overlap. */
export function checkSvg(svg: string): XmlElement {
	const root = checkStructure(svg)
	const texts = placedTexts(root)
	for (const { text, left, right, y } of texts) {
		expect(left, text).toBeGreaterThanOrEqual(0)
		expect(right, text).toBeLessThanOrEqual(Number(root.attributes['width']))
		expect(y, text).toBeLessThanOrEqual(Number(root.attributes['height']))
	}
	const overlaps = texts.flatMap((one, index) =>
		texts
			.slice(0, index)
			.filter((other) => Math.abs(one.y - other.y) < 9 && one.left < other.right && other.left < one.right)
			.map((other) => `${one.text} / ${other.text}`),
	)
	expect(overlaps).toEqual([])
	return root
}

export interface PlacedText {
	readonly text: string
	readonly left: number
	readonly right: number
	readonly y: number
}

/** Returns where texts stand in Arial, except for rotated ones. */
export function placedTexts(root: XmlElement): readonly PlacedText[] {
	return root.children
		.filter(({ name }) => name === 'text')
		.map(({ attributes, text }) => {
			const classes = (attributes['class'] ?? '').split(' ')
			const size = classes.reduce((found, name) => SIZES[name] ?? found, 12)
			const width = arialWidth(text, size, classes.includes('title') || classes.includes('strong'))
			const share = { start: 0, middle: 0.5, end: 1 }[attributes['text-anchor'] ?? 'start'] ?? 0
			const left = Number(attributes['x']) - width * share
			return { text, left, right: left + width, y: Number(attributes['y']) }
		})
}
