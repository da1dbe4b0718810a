import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { editDistance, nearestName } from '../../../src/core/options/nearest-name.ts'

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

describe('editDistance', () => {
	const word = fc.string({ maxLength: 8 })

	test('is zero for equal words only, and symmetric', () => {
		fc.assert(
			fc.property(word, word, (a, b) => {
				expect(editDistance(a, a)).toBe(0)
				expect(editDistance(a, b)).toBe(editDistance(b, a))
				expect(editDistance(a, b) === 0).toBe(a === b)
			}),
		)
	})

	test('lies between the difference of the lengths and the greater length', () => {
		fc.assert(
			fc.property(word, word, (a, b) => {
				expect(editDistance(a, b)).toBeGreaterThanOrEqual(Math.abs(a.length - b.length))
				expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length))
			}),
		)
	})

	test('counts two swapped letters as one error', () => {
		fc.assert(
			fc.property(word, fc.constantFrom('ab', 'xy'), word, (head, pair, tail) => {
				const swapped = [...pair].reverse().join('')
				expect(editDistance(head + pair + tail, head + swapped + tail)).toBe(1)
			}),
		)
	})
})
