import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { displayWidth, pad, truncate, wrap } from '../../src/text/width.ts'

describe('displayWidth', () => {
	it.each([
		['plain', 5],
		['八起き', 6],
		['ﾊｰﾌ', 3],
		['e\u0301', 1],
		['🙂', 2],
		['', 0],
	])('%s takes %d columns', (text, width) => expect(displayWidth(text)).toBe(width))
})

describe('pad', () => {
	it('fills by display width on either side', () => {
		expect(pad('八', 4)).toBe('八  ')
		expect(pad('八', 4, 'right')).toBe('  八')
	})

	it('returns a wider text unchanged', () => expect(pad('abc', 2)).toBe('abc'))
})

describe('truncate', () => {
	it('ends in an ellipsis and fits', () => {
		expect(truncate('a rather long name', 8)).toBe('a rathe…')
		expect(truncate('八起き八起き', 6)).toBe('八起…')
	})

	it('returns a text that fits unchanged', () => expect(truncate('short', 8)).toBe('short'))
})

describe('wrap', () => {
	const word = fc.stringMatching(/^[a-z-]{1,10}$/)
	const words = fc.array(word, { maxLength: 30 })

	it('breaks at white space, and anywhere within Japanese', () => {
		expect(wrap('the service was called', 11)).toEqual(['the service', 'was called'])
		expect(wrap('七転び八起き', 6)).toEqual(['七転び', '八起き'])
	})

	it('treats every run of white space as one space', () => {
		expect(wrap('  a\n\tb  c ', 10)).toEqual(['a b c'])
	})

	it('keeps every word in order and fits', () => {
		fc.assert(
			fc.property(words, fc.integer({ min: 10, max: 60 }), (all, width) => {
				const lines = wrap(all.join(' '), width)
				expect(lines.join(' ')).toBe(all.join(' '))
				for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
			}),
		)
	})

	it('does not break a line that could take the next word', () => {
		expect(wrap('aa bb cc dd', 5)).toEqual(['aa bb', 'cc dd'])
	})

	it('keeps, truncates or breaks a word that is wider than the line', () => {
		expect(wrap('a metastable b', 4)).toEqual(['a', 'metastable', 'b'])
		expect(wrap('a metastable b', 4, 'truncate')).toEqual(['a', 'met…', 'b'])
		expect(wrap('a metastable b', 4, 'break')).toEqual(['a', 'meta', 'stab', 'le', 'b'])
	})

	it('puts each word on its own line if there is no room at all', () => {
		expect(wrap('a b', -20)).toEqual(['a', 'b'])
	})

	it('fits any text if long words are truncated or broken', () => {
		fc.assert(
			fc.property(
				fc.string({ unit: 'grapheme' }),
				fc.constantFrom('truncate', 'break'),
				(text, longWords) => {
					for (const line of wrap(text, 7, longWords)) expect(displayWidth(line)).toBeLessThanOrEqual(7)
				},
			),
		)
	})

	it('measures with the given function', () => {
		const measure = (text: string) => text.length * 10
		expect(wrap('aa bb cc', 50, 'keep', measure)).toEqual(['aa bb', 'cc'])
	})
})
