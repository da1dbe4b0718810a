import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Trace } from '../../../src/sim/kernel/event-loop.ts'

const hashOf = (values: readonly number[]): string => {
	const trace = new Trace()
	for (const value of values) trace.add(value)
	return trace.hash
}

const numbers = fc.array(fc.double({ noNaN: true }), { minLength: 1, maxLength: 50 })

it('the same numbers give the same 16 digits', () => {
	fc.assert(
		fc.property(numbers, (values) => {
			expect(hashOf(values)).toBe(hashOf([...values]))
			expect(hashOf(values)).toMatch(/^[0-9a-f]{16}$/)
		}),
	)
})

it('one different number gives another hash', () => {
	fc.assert(
		fc.property(numbers, fc.nat(), fc.double({ noNaN: true }), (values, where, other) => {
			const place = where % values.length
			fc.pre(!Object.is(values[place], other))
			expect(hashOf(values.with(place, other))).not.toBe(hashOf(values))
		}),
		{ numRuns: 1_000 },
	)
	const times = Array.from({ length: 1_000 }, (_, index) => index * 1.7)
	expect(hashOf(times.with(500, 850 * (1 + Number.EPSILON)))).not.toBe(hashOf(times.with(500, 850)))
})

it('another order, one more and one less number give another hash', () => {
	expect(new Set([[1, 2], [2, 1], [1], [1, 2, 0], [], [0], [-0]].map(hashOf)).size).toBe(7)
})

it('100,000 traces have 100,000 hashes', () => {
	const seen = new Set<string>()
	for (let index = 0; index < 100_000; index++) {
		const trace = new Trace()
		trace.add(index % 1_000)
		trace.add(index / 1_000)
		seen.add(trace.hash)
	}
	expect(seen.size).toBe(100_000)
})
