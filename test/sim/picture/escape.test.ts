import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coordinate, element, textAt } from '../../../src/sim/picture/element.ts'
import { escapeXml, plainLine } from '../../../src/sim/picture/escape.ts'
import { anyName, inXml } from './any-chart.ts'
import { readXml } from './xml.ts'

describe('text in a picture', () => {
	it('is read again as it was, between tags and in attributes', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'grapheme' }), (text) => {
				const back = readXml(element('text', { name: text }, escapeXml(text)))
				expect(back.attributes['name']).toBe(text)
				expect(back.text).toBe(text)
			}),
		)
	})

	it('is sound XML even if it holds what XML does not have', () => {
		fc.assert(
			fc.property(anyName, (text) => {
				expect(readXml(textAt(0, 0, 'label', text)).text).toBe(inXml(text))
			}),
		)
	})
})

describe('text for a terminal', () => {
	it('stays on one line', () => expect(plainLine('a\r\n\tb\u2028c')).toBe('a b c'))

	it('can not move the cursor, change a colour or turn the direction', () => {
		expect(plainLine('\x1b[31mred\x07\x9b2J\u202Eback')).toBe('\uFFFD[31mred\uFFFD\uFFFD2J\uFFFDback')
	})

	it('is otherwise what it was', () => expect(plainLine('七転び八起き, 10 %')).toBe('七転び八起き, 10 %'))
})

describe('an element', () => {
	it('rounds its numbers and leaves out what is not there', () => {
		expect(element('path', { x: 1.26, y: -0.01, d: undefined })).toBe('<path x="1.3" y="0"/>')
	})

	it('never writes minus zero', () => expect(coordinate(-0.04)).toBe('0'))
})

describe('the reader of these tests', () => {
	it.each([
		['<a><b></a></b>', 'closes'],
		['<a', 'no tag'],
		['<a x=1/>', 'no tag'],
		['<a x="1" x="2"/>', 'twice'],
		['<a>&nbsp;</a>', 'no entity'],
		['<a>a & b</a>', 'no entity'],
		['<a/><b/>', 'not one element'],
		['<a>', 'not one element'],
		['<a>\0</a>', 'a character'],
	])('refuses %s', (document, why) => expect(() => readXml(document)).toThrow(why))
})
