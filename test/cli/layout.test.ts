import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { twoColumns, wrap } from '../../src/cli/layout.ts'

const word = fc.stringMatching(/^[a-z-]{1,10}$/)
const sentence = fc.array(word, { minLength: 1, maxLength: 30 })

describe('wrapped text', () => {
	test('keeps every word and its order, and fits', () => {
		fc.assert(
			fc.property(sentence, fc.integer({ min: 10, max: 60 }), (words, columns) => {
				const lines = wrap(words.join(' '), columns)
				expect(lines.join(' ').split(' ')).toEqual(words)
				for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
			}),
		)
	})

	test('takes as few lines as it can', () => {
		expect(wrap('aa bb cc dd', 5)).toEqual(['aa bb', 'cc dd'])
	})

	test('does not cut a word that is too long, however small the window is', () => {
		expect(wrap('a metastable b', 3)).toEqual(['a', 'metastable', 'b'])
		expect(wrap('a b', -20)).toEqual(['a', 'b'])
	})
})

describe('two columns', () => {
	test('stand under each other, and the right one is wrapped under itself', () => {
		expect(
			twoColumns(
				[
					['--a', 'one two three'],
					['--long', 'four'],
				],
				20,
			),
		).toEqual(['  --a      one two', '           three', '  --long   four'])
	})

	test('have no spaces at the end where the right one is empty', () => {
		expect(twoColumns([['--a', '']], 80)).toEqual(['  --a'])
	})

	test('leave the line to a left one that is too wide, and do not move the others', () => {
		const wide = 'x'.repeat(40)
		expect(
			twoColumns(
				[
					['--a', 'one'],
					[wide, 'two'],
				],
				80,
			),
		).toEqual(['  --a   one', `  ${wide}`, '        two'])
	})

	test('do not grow with a very wide window', () => {
		const lines = twoColumns([['--a', 'word '.repeat(100)]], 1000)
		expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(110)
	})
})
