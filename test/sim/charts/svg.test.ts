import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
	coordinate,
	element,
	escapeXml,
	fitText,
	textAt,
	textWidth,
	wrapText,
} from '../../../src/sim/charts/svg.ts'
import { anyName, inXml } from './any-chart.ts'
import { arialWidth } from './check-svg.ts'
import { readXml } from './xml.ts'

describe('escapeXml', () => {
	it('round-trips text between tags and in attributes', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'grapheme' }), (text) => {
				const back = readXml(element('text', { name: text }, escapeXml(text)))
				expect(back.attributes['name']).toBe(text)
				expect(back.text).toBe(text)
			}),
		)
	})

	it('replaces characters that XML cannot express', () => {
		fc.assert(
			fc.property(anyName, (text) => {
				expect(readXml(textAt(0, 0, 'label', text)).text).toBe(inXml(text))
			}),
		)
	})
})

describe('element', () => {
	it('rounds numbers and leaves out attributes that are undefined', () => {
		expect(element('path', { x: 1.26, y: -0.01, d: undefined })).toBe('<path x="1.3" y="0"/>')
	})

	it('never writes -0', () => expect(coordinate(-0.04)).toBe('0'))
})

describe('textWidth', () => {
	it('is proportional to the font size', () => {
		expect(textWidth('capacity', 24)).toBeCloseTo(2 * textWidth('capacity', 12))
	})

	it('counts a Japanese character as one em', () => expect(textWidth('八起き', 10)).toBe(30))

	it('is at least the width in Arial, for every ASCII character', () => {
		for (let code = 32; code < 127; code++) {
			const character = String.fromCharCode(code)
			expect(textWidth(character, 1), character).toBeGreaterThanOrEqual(arialWidth(character, 1, false))
		}
	})

	it('bounds truncated and wrapped texts', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'grapheme' }), (text) => {
				for (const line of [fitText(text, 60, 12), ...wrapText(text, 60, 12)])
					expect(textWidth(line, 12)).toBeLessThanOrEqual(60)
			}),
		)
	})
})

describe('the XML parser of these tests', () => {
	it.each([
		['<a><b></a></b>', 'does not match'],
		['<a', 'invalid tag'],
		['<a x=1/>', 'invalid tag'],
		['<a x="1" x="2"/>', 'duplicate attribute'],
		['<a>&nbsp;</a>', 'unknown entity'],
		['<a>a & b</a>', 'unknown entity'],
		['<a/><b/>', 'one root element'],
		['<a>', 'one root element'],
		['<a>\0</a>', 'forbidden character'],
	])('rejects %s', (document, message) => expect(() => readXml(document)).toThrow(message))
})
