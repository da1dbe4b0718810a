import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BackoffOptions, calculateDelay, type JitterStrategy, nextRetryAt } from 'yaoki'
import { seededRandom, virtualRuntime } from 'yaoki/testing'

const none = (options: BackoffOptions) => ({ jitterStrategy: 'none', ...options }) as const
const delays = (options: BackoffOptions, count = 6) =>
	Array.from({ length: count }, (_, attempt) => calculateDelay(attempt, none(options)))

/** A runtime whose random numbers are all the same. */
const drawing = (random: number) => ({ ...virtualRuntime(), random: () => random })

describe('growth', () => {
	it('doubles up to the cap by default', () => {
		expect(delays({ baseDelayMs: 1000, maxDelayMs: 30_000 })).toEqual([
			1000, 2000, 4000, 8000, 16_000, 30_000,
		])
	})
	it('multiplies by factor', () => {
		expect(delays({ baseDelayMs: 10, factor: 3 }, 4)).toEqual([10, 30, 90, 270])
	})
	it('adds the base at each attempt with linear growth', () => {
		expect(delays({ baseDelayMs: 100, growth: 'linear' }, 4)).toEqual([100, 200, 300, 400])
	})
	it('stays at the base with constant growth', () => {
		expect(delays({ baseDelayMs: 100, growth: 'constant' }, 3)).toEqual([100, 100, 100])
	})
	it('adds the two steps before with fibonacci growth', () => {
		expect(delays({ baseDelayMs: 100, growth: 'fibonacci' }, 7)).toEqual([100, 100, 200, 300, 500, 800, 1300])
	})
	it('repeats the last value of a list, up to the cap', () => {
		expect(delays({ growth: [5, 50, 500], maxDelayMs: 300 }, 5)).toEqual([5, 50, 300, 300, 300])
	})
	it('calls a function with the attempt, up to the cap', () => {
		expect(delays({ growth: (attempt) => attempt ** 2, maxDelayMs: 8 }, 4)).toEqual([0, 1, 4, 8])
	})
	it('is finite at attempt 10,000 for every curve', () => {
		for (const growth of [
			'exponential',
			'linear',
			'constant',
			'fibonacci',
			[7],
			(n: number) => 2 ** n,
		] as const) {
			expect(calculateDelay(10_000, none({ growth }))).toBeLessThanOrEqual(30_000)
			expect(calculateDelay(10_000, none({ growth, baseDelayMs: 0, maxDelayMs: 50 }))).toBeLessThanOrEqual(50)
		}
	})
})

describe('jitter', () => {
	const step = { baseDelayMs: 1000, maxDelayMs: 30_000 }
	const at = (jitterStrategy: JitterStrategy, random: number, previous?: number, more: BackoffOptions = {}) =>
		calculateDelay(2, { ...step, ...more, jitterStrategy, runtime: drawing(random) }, previous)

	it('full draws from 0 to the step', () => {
		expect([at('full', 0), at('full', 0.5)]).toEqual([0, 2000])
	})
	it('equal draws from half the step to the step', () => {
		expect([at('equal', 0), at('equal', 0.5)]).toEqual([2000, 3000])
	})
	it('proportional adds a share of the step', () => {
		expect([at('proportional', 0), at('proportional', 0.5)]).toEqual([4000, 4600])
		expect(at('proportional', 0.5, undefined, { jitterFactor: 0.5 })).toBe(5000)
	})
	it('additive adds a range to the step', () => {
		expect([at('additive', 0), at('additive', 0.5, undefined, { jitterRangeMs: 200 })]).toEqual([4000, 4100])
	})
	it('decorrelated draws from the base to three times the previous delay, capped before the draw', () => {
		expect([at('decorrelated', 0, 4000), at('decorrelated', 0.5, 4000)]).toEqual([1000, 6500])
		expect(at('decorrelated', 0.5, 29_000)).toBe(15_500)
		expect(at('decorrelated', 0.5)).toBe(2000)
	})
	it('decorrelated returns the base if the range is empty', () => {
		expect(at('decorrelated', 0.5, 100)).toBe(1000)
		expect(at('decorrelated', 0.5, 4000, { maxDelayMs: 1000 })).toBe(1000)
	})
	it('decorrelated-aws is capped after the draw', () => {
		expect(at('decorrelated-aws', 0.9, 29_000)).toBe(30_000)
		expect(at('decorrelated-aws', 0.5, 4000)).toBe(6500)
	})
	it('is full by default', () => {
		expect(calculateDelay(2, { ...step, runtime: drawing(0.25) })).toBe(1000)
	})
})

/** The documented bounds, written a second time and independently of the code. */
function expectedBounds(o: Required<BackoffOptions>, step: number, previous: number): [number, number] {
	switch (o.jitterStrategy) {
		case 'full':
			return [0, step]
		case 'equal':
			return [step / 2, step]
		case 'proportional':
			return [step, step * (1 + (o.jitterFactor ?? 0))]
		case 'additive':
			return [step, step + (o.jitterRangeMs ?? 0)]
		case 'decorrelated':
		case 'decorrelated-aws':
			return [o.baseDelayMs ?? 0, Math.max(o.baseDelayMs ?? 0, Math.min(o.maxDelayMs ?? 0, 3 * previous))]
		default:
			return [step, step]
	}
}

const strategies = [
	'none',
	'full',
	'equal',
	'decorrelated',
	'decorrelated-aws',
	'proportional',
	'additive',
] as const

describe('properties', () => {
	const options = fc
		.record({
			baseDelayMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
			extra: fc.double({ min: 0, max: 1e7, noNaN: true }),
			factor: fc.double({ min: 1, max: 10, noNaN: true }),
			growth: fc.constantFrom('exponential', 'linear', 'constant', 'fibonacci'),
			jitterStrategy: fc.constantFrom(...strategies),
			jitterFactor: fc.double({ min: 0, max: 1, noNaN: true }),
			jitterRangeMs: fc.double({ min: 0, max: 1e5, noNaN: true }),
		})
		.map(({ extra, ...o }) => ({ ...o, maxDelayMs: o.baseDelayMs + extra }) as Required<BackoffOptions>)

	it('every delay of every strategy is finite and within its bounds, up to attempt 10,000', () => {
		const random = fc.double({ min: 0, max: 1 - 2 ** -53, noNaN: true })
		const previous = fc.double({ min: 0, max: 1e7, noNaN: true })
		fc.assert(
			fc.property(options, fc.nat(10_000), random, previous, (o, attempt, r, p) => {
				const step = calculateDelay(attempt, { ...o, jitterStrategy: 'none' })
				const delay = calculateDelay(attempt, { ...o, runtime: drawing(r) }, p)
				const [min, max] = expectedBounds(o, step, p)
				expect(step).toBeLessThanOrEqual(o.maxDelayMs ?? 0)
				expect(Number.isFinite(delay)).toBe(true)
				expect(delay).toBeGreaterThanOrEqual(min)
				expect(delay).toBeLessThanOrEqual(max * (1 + 1e-12))
			}),
			{ numRuns: 3_000 },
		)
	})

	it('steps never shrink from one attempt to the next', () => {
		fc.assert(
			fc.property(options, fc.nat(200), (o, attempt) => {
				const step = (n: number) => calculateDelay(n, { ...o, jitterStrategy: 'none' })
				expect(step(attempt + 1)).toBeGreaterThanOrEqual(step(attempt))
			}),
		)
	})

	const draws = (jitterStrategy: JitterStrategy, attempt: number, count: number) => {
		const runtime = { ...virtualRuntime(), random: seededRandom(`${jitterStrategy} ${attempt}`) }
		return Array.from({ length: count }, () =>
			calculateDelay(attempt, { baseDelayMs: 100, maxDelayMs: 2000, jitterStrategy, runtime }, 600),
		)
	}
	const mean = (xs: readonly number[]) => xs.reduce((a, b) => a + b, 0) / xs.length

	it.each([
		['full', 200, 400 / Math.sqrt(12)],
		['equal', 300, 200 / Math.sqrt(12)],
		['proportional', 460, 120 / Math.sqrt(12)],
		['additive', 900, 1000 / Math.sqrt(12)],
		['decorrelated', 950, 1700 / Math.sqrt(12)],
		['decorrelated-aws', 950, 1700 / Math.sqrt(12)],
	] as const)('the mean of %s is within its confidence interval', (strategy, expected, deviation) => {
		const count = 20_000
		expect(Math.abs(mean(draws(strategy, 2, count)) - expected)).toBeLessThan(
			(4 * deviation) / Math.sqrt(count),
		)
	})

	it.each(strategies.filter((s) => s !== 'none' && s !== 'decorrelated-aws'))(
		'%s still has jitter at the cap: fewer than 1 %% of the delays equal it',
		(strategy) => {
			const atCap = draws(strategy, 50, 5_000).filter((delay) => delay === 2000)
			expect(atCap.length).toBeLessThan(50)
		},
	)

	it('decorrelated-aws bunches at the cap', () => {
		const runtime = { ...virtualRuntime(), random: seededRandom(1) }
		const at = () =>
			calculateDelay(
				9,
				{ baseDelayMs: 100, maxDelayMs: 2000, jitterStrategy: 'decorrelated-aws', runtime },
				2000,
			)
		expect(Array.from({ length: 1000 }, at).filter((delay) => delay === 2000).length).toBeGreaterThan(500)
	})
})

describe('calculateDelay with an options object that changes between calls', () => {
	it('uses the changed, added and removed options', () => {
		const options: { -readonly [Name in keyof BackoffOptions]: BackoffOptions[Name] } = {
			baseDelayMs: 100,
			jitterStrategy: 'none',
		}
		expect(calculateDelay(2, options)).toBe(400)
		options.baseDelayMs = 10
		expect(calculateDelay(2, options)).toBe(40)
		options.growth = 'linear'
		expect(calculateDelay(2, options)).toBe(30)
		delete options.growth
		expect(calculateDelay(2, options)).toBe(40)
		Object.assign(options, { baseDelayMs: 20, jitterStrategy: 'decorrelated' })
		expect(calculateDelay(2, options, 0)).toBe(20)
	})
})

describe('nextRetryAt', () => {
	it('accepts every valid Date and no later time', () => {
		const last = 8.64e15
		expect(nextRetryAt(last, 0, none({ baseDelayMs: 0 }))).toEqual(new Date(last))
		expect(() => nextRetryAt(last + 1, 0)).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'now' }),
		)
	})
	it('returns now plus the delay as a Date', () => {
		const now = new Date('2026-03-01T00:00:00Z')
		expect(nextRetryAt(now, 3, none({ baseDelayMs: 1000 }))).toEqual(new Date('2026-03-01T00:00:08Z'))
		expect(nextRetryAt(now.getTime(), 0, none({ baseDelayMs: 500 }))).toEqual(
			new Date('2026-03-01T00:00:00.500Z'),
		)
	})
})
