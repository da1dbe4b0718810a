import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nearestName } from '../../../src/core/options/nearest-name.ts'

const names = ['seed', 'out', 'assert', 'max-events', 'incident', 'json']

describe('nearestName', () => {
	test.each([
		['sead', 'seed'],
		['sede', 'seed'],
		['seeed', 'seed'],
		['sed', 'seed'],
		['SEED', 'seed'],
		['ou', 'out'],
		['maxEvents', 'max-events'],
		['asert', 'assert'],
	])('suggests for %s the name %s', (word, name) => {
		expect(nearestName(word, names)).toBe(name)
	})

	test.each(['x', 'color', 'outrageous', ''])('suggests nothing for %j', (word) => {
		expect(nearestName(word, names)).toBeUndefined()
	})

	test('suggests nothing without candidates', () => {
		expect(nearestName('seed', [])).toBeUndefined()
	})

	test('prefers the nearer name, and the first of two equally near ones', () => {
		expect(nearestName('lists', ['lost', 'list'])).toBe('list')
		expect(nearestName('lxst', ['lost', 'list'])).toBe('lost')
	})
})

/** Names without repeated letters: a typo that repeats a letter nearby may count twice. */
const name = fc.shuffledSubarray([...'abcdefghij'], { minLength: 4 }).map((letters) => letters.join(''))
const typo = fc.tuple(name, fc.nat(8), fc.constantFrom('x', '-', 'Z'))

describe('one typo in a name of four letters or more', () => {
	test.each<[string, (text: string, at: number, letter: string) => string]>([
		['a missing letter', (text, at) => text.slice(0, at) + text.slice(at + 1)],
		['an extra letter', (text, at, letter) => text.slice(0, at) + letter + text.slice(at)],
		['a wrong letter', (text, at, letter) => text.slice(0, at) + letter + text.slice(at + 1)],
		[
			'two swapped letters',
			(text, at) =>
				text.slice(0, at) +
				text
					.slice(at, at + 2)
					.split('')
					.reverse()
					.join('') +
				text.slice(at + 2),
		],
		['another case', (text) => text.toUpperCase()],
	])('%s is recognized', (_, misspell) => {
		fc.assert(
			fc.property(typo, ([text, position, letter]) => {
				const word = misspell(text, position % text.length, letter)
				expect(nearestName(word, ['unrelated', text])).toBe(text)
			}),
		)
	})
})
