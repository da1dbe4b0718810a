/** What every picture promises, whatever it was told: checked on the file that comes out. */
import { expect } from 'vitest'
import { textWidth } from '../../../src/sim/picture/text-width.ts'
import { allOf, readXml, type XmlElement } from './xml.ts'

/** The font sizes by class, as in the stylesheet. */
const SIZES: Readonly<Record<string, number>> = { title: 17, subtitle: 13, small: 11, cell: 10 }

/** Reads a picture and checks that it is sound. */
export function soundPicture(svg: string): XmlElement {
	const root = readXml(svg)
	expect(root.name).toBe('svg')
	expect(root.attributes).toMatchObject({ role: 'img', xmlns: 'http://www.w3.org/2000/svg' })
	expect(root.children.slice(0, 2).map(({ name }) => name)).toEqual(['title', 'desc'])
	for (const { attributes } of allOf(root)) {
		for (const [name, value] of Object.entries(attributes)) {
			if (name !== 'class') expect(value, name).not.toMatch(/NaN|Infinity|undefined|null|e[+-]?\d|\.\d\d/)
		}
	}
	for (const text of placedTexts(root)) {
		expect(text.left, text.text).toBeGreaterThanOrEqual(0)
		expect(text.right, text.text).toBeLessThanOrEqual(Number(root.attributes['width']))
		expect(text.y, text.text).toBeLessThanOrEqual(Number(root.attributes['height']))
	}
	expect(overlaps(root)).toEqual([])
	return root
}

export interface PlacedText {
	readonly text: string
	readonly left: number
	readonly right: number
	readonly y: number
}

/** Where texts stand by the estimate of their width. Those that are turned are left out. */
export function placedTexts(root: XmlElement): readonly PlacedText[] {
	return root.children
		.filter(({ name }) => name === 'text')
		.map(({ attributes, text }) => {
			const size = (attributes['class'] ?? '').split(' ').reduce((found, name) => SIZES[name] ?? found, 12)
			const width = textWidth(text, size)
			const share = { start: 0, middle: 0.5, end: 1 }[attributes['text-anchor'] ?? 'start'] ?? 0
			const left = Number(attributes['x']) - width * share
			return { text, left, right: left + width, y: Number(attributes['y']) }
		})
}

/** Pairs of texts in one line that touch. */
function overlaps(root: XmlElement): readonly string[] {
	const texts = placedTexts(root)
	return texts.flatMap((one, index) =>
		texts
			.slice(0, index)
			.filter((other) => Math.abs(one.y - other.y) < 9 && one.left < other.right && other.left < one.right)
			.map((other) => `${one.text} / ${other.text}`),
	)
}
