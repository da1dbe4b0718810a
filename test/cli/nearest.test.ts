import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { distance, nearest } from '../../src/cli/nearest.ts'

const names = ['seed', 'out', 'assert', 'max-events', 'incident', 'json']

describe('the name that was meant', () => {
	test.each([
		['sead', 'seed'],
		['sede', 'seed'],
		['seeed', 'seed'],
		['sed', 'seed'],
		['SEED', 'seed'],
		['ou', 'out'],
		['maxEvents', 'max-events'],
		['asert', 'assert'],
	])('%s is %s', (word, meant) => {
		expect(nearest(word, names)).toBe(meant)
	})

	test.each(['x', 'colour', 'outrageous', ''])('nothing is offered for %j, which is like none', (word) => {
		expect(nearest(word, names)).toBeUndefined()
	})

	test('nothing is offered where there is nothing', () => {
		expect(nearest('seed', [])).toBeUndefined()
	})

	test('the nearer one wins, and of equals the first', () => {
		expect(nearest('lists', ['lost', 'list'])).toBe('list')
		expect(nearest('lxst', ['lost', 'list'])).toBe('lost')
	})
})

describe('the distance of two words', () => {
	const word = fc.string({ maxLength: 8 })

	test('is nothing for the same word, and the same both ways', () => {
		fc.assert(
			fc.property(word, word, (a, b) => {
				expect(distance(a, a)).toBe(0)
				expect(distance(a, b)).toBe(distance(b, a))
				expect(distance(a, b) === 0).toBe(a === b)
			}),
		)
	})

	test('lies between the difference and the greater of the lengths', () => {
		fc.assert(
			fc.property(word, word, (a, b) => {
				expect(distance(a, b)).toBeGreaterThanOrEqual(Math.abs(a.length - b.length))
				expect(distance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length))
			}),
		)
	})

	test('is one for two letters that changed places', () => {
		fc.assert(
			fc.property(word, fc.constantFrom('ab', 'xy'), word, (head, pair, tail) => {
				const swapped = [...pair].reverse().join('')
				expect(distance(head + pair + tail, head + swapped + tail)).toBe(1)
			}),
		)
	})
})
