import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayWidth } from '../../../src/sim/picture/text/display-width.ts'
import { inPixels, shortened, textWidth, wrapped } from '../../../src/sim/picture/text-width.ts'

describe('an estimate', () => {
	it('grows with the font and with the text', () => {
		expect(textWidth('capacity', 24)).toBeCloseTo(2 * textWidth('capacity', 12))
		expect(textWidth('capacity 200', 12)).toBeGreaterThan(textWidth('capacity', 12))
	})

	it('knows that some characters are wider than others', () => {
		expect(textWidth('八起き', 10)).toBe(30)
		expect(textWidth('www', 10)).toBeGreaterThan(textWidth('iii', 10))
	})
})

describe('a text that is too long', () => {
	it('ends in an ellipsis and fits', () => {
		expect(shortened('a rather long name', 8, displayWidth)).toBe('a rathe…')
		expect(shortened('八起き八起き', 6, displayWidth)).toBe('八起…')
		expect(shortened('short', 8, displayWidth)).toBe('short')
	})

	it('is wrapped at words, and within Japanese anywhere', () => {
		expect(wrapped('the service was sent', 11, displayWidth)).toEqual(['the service', 'was sent'])
		expect(wrapped('七転び八起き', 6, displayWidth)).toEqual(['七転び', '八起き'])
	})

	it('loses nothing but spaces as long as no word is longer than a line', () => {
		const word = fc.string({ minLength: 1, maxLength: 9 }).filter((text) => !/\s/.test(text))
		fc.assert(
			fc.property(fc.array(word), fc.integer({ min: 10, max: 40 }), (words, room) => {
				const lines = wrapped(words.join(' '), room, displayWidth)
				expect(lines.join(' ')).toBe(words.join(' '))
				expect(lines.every((line) => displayWidth(line) <= room)).toBe(true)
			}),
		)
	})

	it('never makes a line that is wider than the room, whatever it is', () => {
		fc.assert(
			fc.property(fc.string({ unit: 'grapheme' }), (text) => {
				const measure = inPixels(12)
				for (const line of wrapped(text, 60, measure)) expect(measure(line)).toBeLessThanOrEqual(60)
			}),
		)
	})
})

describe('columns of a terminal', () => {
	it.each([
		['plain', 5],
		['八起き', 6],
		['ﾊｰﾌ', 3],
		['e\u0301', 1],
		['🙂', 2],
		['', 0],
	])('%s takes %d', (text, width) => expect(displayWidth(text)).toBe(width))
})
