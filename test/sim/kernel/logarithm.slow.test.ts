import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { logarithm, powerOfE } from '../../../src/sim/kernel/logarithm.ts'

/** The difference in units in the last place. */
const apart = (one: number, other: number): number =>
	one === other ? 0 : Math.abs(one - other) / (Math.abs(other) * Number.EPSILON)

describe('the logarithm', () => {
	test('equals that of the engine except for the last bits', () => {
		const drawn = fc.double({ min: Number.MIN_VALUE, max: 1, noNaN: true })
		const any = fc.double({ min: Number.MIN_VALUE, max: Number.MAX_VALUE, noNaN: true })
		fc.assert(
			fc.property(fc.oneof(drawn, any), (x) => {
				expect(apart(logarithm(x), Math.log(x))).toBeLessThan(4)
			}),
			{ numRuns: 2_000 },
		)
	})

	test('is the same to the last bit on every engine', () => {
		const values = [0.2, 0.3, 0.7, 0.999, 1e-9, 3, 1e300].map(logarithm)
		expect(values).toEqual([
			-1.6094379124341003, -1.2039728043259361, -0.35667494393873245, -0.0010005003335835344,
			-20.72326583694641, 1.0986122886681098, 690.7755278982137,
		])
	})

	test('is 0 for 1, and as usual for special values', () => {
		expect([1, 0, -1, Infinity, Number.NaN].map(logarithm)).toEqual([0, -Infinity, NaN, Infinity, NaN])
	})
})

describe('the exponential', () => {
	test('equals that of the engine except for the last bits', () => {
		fc.assert(
			fc.property(fc.double({ min: -800, max: 800, noNaN: true }), (x) => {
				expect(apart(powerOfE(x), Math.exp(x))).toBeLessThan(4)
			}),
			{ numRuns: 2_000 },
		)
		expect([0, Infinity, -Infinity, Number.NaN].map(powerOfE)).toEqual([1, Infinity, 0, NaN])
	})

	test('is the same to the last bit on every engine', () => {
		expect([2, -1, 0.5, 3.25, -12.5, 200].map(powerOfE)).toEqual([
			7.38905609893065, 0.36787944117144233, 1.6487212707001282, 25.790339917193062, 0.000003726653172078671,
			7.225973768125749e86,
		])
	})
})
