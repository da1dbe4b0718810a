import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Distribution, meanOf, sampler } from '../../../src/sim/kernel/distribution.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'

const COUNT = 200_000

function sample(distribution: Distribution, seed: number | string = 1, count = COUNT): number[] {
	return Array.from({ length: count }, sampler(distribution, seededRandom(seed)))
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const sdOf = (values: readonly number[]) => {
	const average = mean(values)
	return Math.sqrt(mean(values.map((value) => (value - average) ** 2)))
}
/** The share of values up to a limit. */
const shareUpTo = (values: readonly number[], bound: number) =>
	values.filter((value) => value <= bound).length / values.length
/** Five standard errors of a share. */
const shareError = (share: number) => 5 * Math.sqrt((share * (1 - share)) / COUNT)

const laws: Readonly<Record<string, Distribution>> = {
	exponential: { kind: 'exponential', meanMs: 20 },
	lognormal: { kind: 'lognormal', medianMs: 20, p99Ms: 200 },
	normal: { kind: 'normal', meanMs: 10, sdMs: 2 },
	uniform: { kind: 'uniform', minMs: 5, maxMs: 15 },
	empirical: { kind: 'empirical', valuesMs: [1, 2, 2, 100] },
}

describe.each(Object.entries(laws))('%s', (_name, law) => {
	const values = sample(law)

	it('has the mean that meanOf returns', () => {
		expect(Math.abs(mean(values) - meanOf(law))).toBeLessThan((5 * sdOf(values)) / Math.sqrt(COUNT))
	})

	it('draws non-negative, finite values', () => {
		expect(values).toHaveLength(COUNT)
		expect(values.filter((value) => !(value >= 0 && value < Infinity))).toEqual([])
	})

	it('draws the same from the same seed, and other values from another', () => {
		expect(sample(law, 1, 100)).toEqual(values.slice(0, 100))
		expect(sample(law, 2, 100)).not.toEqual(values.slice(0, 100))
	})

	it('draws independent values', () => {
		const [average, variance] = [mean(values), sdOf(values) ** 2]
		const next = values.slice(1).map((value, index) => (value - average) * ((values[index] ?? 0) - average))
		expect(Math.abs(mean(next)) / variance).toBeLessThan(5 / Math.sqrt(COUNT))
	})
})

describe('quantiles', () => {
	it.each([
		['half of a lognormal lies within its median', laws['lognormal'], 20, 0.5],
		['99 % of a lognormal lie within its p99', laws['lognormal'], 200, 0.99],
		['of an exponential, 1 - 1/e within its mean', laws['exponential'], 20, 1 - 1 / Math.E],
		['of an exponential, 99.9 % within 6.9 means', laws['exponential'], 20 * Math.log(1_000), 0.999],
		['of a normal, 97.5 % within 1.96 deviations', laws['normal'], 10 + 2 * 1.959964, 0.975],
		['of a normal, 0.135 % below 3 deviations', laws['normal'], 10 - 2 * 3, 0.00135],
		['of a uniform, a quarter within a quarter', laws['uniform'], 7.5, 0.25],
	] as const)('%s', (_promise, law, bound, share) => {
		expect(Math.abs(shareUpTo(sample(law ?? 0), bound) - share)).toBeLessThan(shareError(share))
	})

	it('are constant if a lognormal has equal p99 and median', () => {
		expect(new Set(sample({ kind: 'lognormal', medianMs: 20, p99Ms: 20 }, 1, 100))).toEqual(new Set([20]))
	})
})

it('a number is a constant', () => {
	expect(new Set(sample(12.5, 1, 100))).toEqual(new Set([12.5]))
	expect(meanOf(12.5)).toBe(12.5)
})

it('a uniform distribution stays within its limits', () => {
	const time = fc.double({ min: 0, max: 1e9, noNaN: true })
	fc.assert(
		fc.property(time, time, fc.nat(), (a, b, seed) => {
			const [minMs, maxMs] = [Math.min(a, b), Math.max(a, b)]
			for (const value of sample({ kind: 'uniform', minMs, maxMs }, seed, 50)) {
				expect(value).toBeGreaterThanOrEqual(minMs)
				expect(value).toBeLessThanOrEqual(maxMs)
			}
		}),
	)
})

it('an empirical distribution draws only the given values, each with its frequency', () => {
	const values = sample(laws['empirical'] ?? 0)
	expect(new Set(values)).toEqual(new Set([1, 2, 100]))
	const shares = [1, 2, 100].map((one) => values.filter((value) => value === one).length / COUNT)
	expect(shares.map((share) => Math.round(share * 100))).toEqual([25, 50, 25])
	fc.assert(
		fc.property(fc.array(fc.double({ min: 0, noNaN: true }), { minLength: 1 }), (valuesMs) => {
			const drawn = sample({ kind: 'empirical', valuesMs }, 3, 30)
			expect(drawn.length).toBeGreaterThan(0)
			expect(drawn.filter((value) => !valuesMs.includes(value))).toEqual([])
		}),
	)
})

it('a normal distribution draws absolute values', () => {
	const values = sample({ kind: 'normal', meanMs: 0, sdMs: 10 })
	expect(values.length).toBeGreaterThan(0)
	expect(values.filter((value) => value < 0)).toEqual([])
	expect(mean(values)).toBeCloseTo(10 * Math.sqrt(2 / Math.PI), 0)
})

it('extreme random numbers give finite durations', () => {
	const extreme = [0, 1 - 2 ** -53, 2 ** -53]
	for (const law of [...Object.values(laws), { kind: 'lognormal', medianMs: 1e-9, p99Ms: 1e15 } as const])
		for (const first of extreme)
			for (const second of extreme) {
				let turn = 0
				// The polar method discards pairs that lie too far out, so others follow these.
				const random = () => [first, second, 0.5, 0.25][turn++ % 4] ?? 0
				const draw = sampler(law, random)
				expect([draw(), draw()].every((value) => value >= 0 && value < Infinity)).toBe(true)
			}
})
