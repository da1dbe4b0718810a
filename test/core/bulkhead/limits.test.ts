import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AdaptiveLimit, ALGORITHMS, type LimitSettings } from '../../../src/core/bulkhead/limits.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { load, type Server } from './server.ts'

const DEFAULTS: LimitSettings = {
	algorithm: 'gradient',
	minConcurrent: 1,
	maxConcurrent: 200,
	initialConcurrent: 20,
	latencyTolerance: 1.5,
	latencyLimitMs: Infinity,
}
const limitOf = (settings: Partial<LimitSettings> = {}) => new AdaptiveLimit({ ...DEFAULTS, ...settings })

/** As many samples of the same kind; answers the limit after them. */
function samples(limit: AdaptiveLimit, count: number, latencyMs: number, concurrent: number): number {
	for (let i = 0; i < count; i++) limit.sample(latencyMs, false, concurrent)
	return limit.limit
}

const meanOf = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length

/** Where the limit has come to after 10,000 calls by callers who never let up, in units of the workers. */
function settled(limit: AdaptiveLimit, server: Server, random: () => number): number {
	return meanOf(load(limit, server, 10_000, random).limits.slice(-4_000)) / server.workers
}

describe.each(['gradient', 'aimd'] as const)('%s', (algorithm) => {
	// Each algorithm detects overload in its own way: by a relative or by an absolute latency.
	const settings = { algorithm, latencyLimitMs: algorithm === 'aimd' ? 150 : Infinity }
	const server = { workers: 20, serviceMs: 50 }

	it('starts at the configured limit', () => {
		expect(limitOf({ algorithm, initialConcurrent: 7 }).limit).toBe(7)
	})

	it.each([1, 2, 3])('settles between the capacity of a server and 2.5 times of it (seed %i)', (seed) => {
		const random = seededRandom(seed)
		for (const workers of [10, 20, 60]) {
			const factor = settled(limitOf(settings), { ...server, workers }, random)
			expect(factor).toBeGreaterThan(1)
			expect(factor).toBeLessThan(2.5)
		}
	})

	it('follows a server that loses half of its workers and then gets twice as many', () => {
		const random = seededRandom(7)
		const limit = limitOf(settings)
		for (const workers of [20, 10, 20, 40, 20]) {
			const factor = settled(limit, { ...server, workers }, random)
			expect(factor).toBeGreaterThan(1)
			expect(factor).toBeLessThan(2.5)
		}
	})

	it('settles below the point where a server rejects', () => {
		const factor = settled(limitOf({ algorithm }), { ...server, maxInside: 30 }, seededRandom(3))
		expect(factor).toBeGreaterThan(1)
		expect(factor).toBeLessThan(31 / 20)
	})

	it("keeps the server's workers busy", () => {
		const random = seededRandom(5)
		const limit = limitOf(settings)
		settled(limit, server, random)
		const { elapsedMs } = load(limit, server, 10_000, random)
		expect((10_000 * server.serviceMs) / server.workers / elapsedMs).toBeGreaterThan(0.97)
	})

	it('does not grow while less than half of it is in use', () => {
		expect(samples(limitOf({ algorithm }), 10_000, 50, 9)).toBe(20)
	})

	it('grows up to its maximum', () => {
		const limit = limitOf({ algorithm, maxConcurrent: 30 })
		const { limits } = load(limit, { workers: 500, serviceMs: 50 }, 10_000, seededRandom(1))
		expect(Math.max(...limits)).toBe(30)
	})

	it('falls to its minimum, and rises again', () => {
		const limit = limitOf({ algorithm, minConcurrent: 4 })
		for (let i = 0; i < 1_000; i++) limit.sample(50, true, 20)
		expect(limit.limit).toBe(4)
		const { limits } = load(limit, { workers: 20, serviceMs: 50 }, 5_000, seededRandom(1))
		expect(Math.max(...limits)).toBeGreaterThan(20)
	})

	it('falls by a tenth for a failure, once per round trip however many there are', () => {
		const limit = limitOf({ algorithm })
		expect(limit.sample(50, true, 20)).toBe(18)
		// Those that ran when the limit fell had begun under the old one.
		for (let i = 0; i < 20; i++) expect(limit.sample(50, true, 20)).toBe(18)
		expect(limit.sample(50, true, 18)).toBe(16)
	})

	it('counts a call slower than the latency limit as a failure', () => {
		const limit = limitOf({ algorithm, latencyLimitMs: 100 })
		expect([limit.sample(100, false, 20), limit.sample(101, false, 20)]).toEqual([20, 18])
	})

	it('ignores invalid latencies', () => {
		const limit = limitOf({ algorithm })
		for (const latencyMs of [Number.NaN, -1, Infinity, -Infinity])
			expect(samples(limit, 1_000, latencyMs, 20)).toBe(20)
		expect(samples(limit, 1_000, 0, 200)).toBeGreaterThan(20)
	})

	it('stays an integer within its bounds for any input', () => {
		const whole = (max: number) => fc.integer({ min: 1, max })
		const bounds = fc.tuple(whole(300), whole(300), whole(300)).map((three) => three.sort((a, b) => a - b))
		const latency = fc.oneof(
			fc.double(),
			fc.double({ min: 0, max: 1_000 }),
			fc.constantFrom(0, 1, Number.MAX_VALUE),
		)
		const observation = fc.tuple(latency, fc.boolean(), fc.nat(400), fc.integer({ min: 1, max: 60 }))
		fc.assert(
			fc.property(
				bounds,
				fc.double({ min: 1, max: 10, noNaN: true }),
				fc.array(observation, { maxLength: 40, size: 'max' }),
				([minConcurrent = 1, initialConcurrent = 1, maxConcurrent = 1], latencyTolerance, history) => {
					const bounded = { algorithm, minConcurrent, initialConcurrent, maxConcurrent, latencyTolerance }
					const limit = limitOf(bounded)
					for (const [latencyMs, isDropped, concurrent, times] of history) {
						for (let i = 0; i < times; i++) {
							const next = limit.sample(latencyMs, isDropped, concurrent)
							if (next % 1 !== 0 || next < minConcurrent || next > maxConcurrent || next !== limit.limit)
								expect.fail(`${next} is no limit from ${minConcurrent} to ${maxConcurrent}`)
						}
					}
				},
			),
			{ numRuns: 1_000 },
		)
	})

	it('keeps its limit through changed settings, within their bounds', () => {
		const limit = limitOf({ algorithm, initialConcurrent: 50 })
		limit.update({ ...DEFAULTS, algorithm })
		expect(limit.limit).toBe(50)
		limit.update({ ...DEFAULTS, algorithm, maxConcurrent: 30 })
		expect(limit.limit).toBe(30)
		limit.update({ ...DEFAULTS, algorithm, minConcurrent: 40 })
		expect(limit.limit).toBe(40)
	})
})

describe('aimd', () => {
	it('grows by one for as many successes as the limit is', () => {
		const limit = limitOf({ algorithm: 'aimd' })
		expect([samples(limit, 19, 50, 20), samples(limit, 1, 50, 20)]).toEqual([20, 21])
		expect([samples(limit, 20, 50, 21), samples(limit, 1, 50, 21)]).toEqual([21, 22])
	})

	it('ignores slowness without a latency limit', () => {
		const limit = limitOf({ algorithm: 'aimd' })
		samples(limit, 100, 10, 20)
		expect(samples(limit, 100, 10_000, 20)).toBeGreaterThan(20)
	})
})

describe('gradient', () => {
	it('falls by half of the excess latency, at most a quarter, and adds a small queue', () => {
		const next = (latencyMs: number) => ALGORITHMS.gradient(100, latencyMs, 99, 1.5)
		expect([next(99), next(149), next(199), next(299), next(9_999)]).toEqual([102.5, 102.5, 90, 77.5, 77.5])
	})

	it('does not learn the queue: under sustained load the limit does not drift', () => {
		const random = seededRandom(11)
		const limit = limitOf({ maxConcurrent: 1_000 })
		const server = { workers: 10, serviceMs: 50 }
		for (let hour = 0; hour < 10; hour++) expect(settled(limit, server, random)).toBeLessThan(2.8)
	})

	it('comes down from a start far above the capacity', () => {
		const limit = limitOf({ initialConcurrent: 200 })
		const server = { workers: 10, serviceMs: 50 }
		load(limit, server, 40_000, seededRandom(1))
		expect(settled(limit, server, seededRandom(2))).toBeLessThan(2.8)
	})

	it('recognizes operations that became slower, and does not take them for a queue', () => {
		const random = seededRandom(13)
		const limit = limitOf()
		for (const serviceMs of [20, 200, 20]) {
			const factor = settled(limit, { workers: 20, serviceMs }, random)
			expect(factor).toBeGreaterThan(1)
			expect(factor).toBeLessThan(2.8)
		}
	})

	it('is not misled by a few calls that take twenty times as long', () => {
		const server = { workers: 60, serviceMs: 50 }
		const shares = [1, 2, 3, 4, 5, 6].map((seed) => {
			const random = seededRandom(seed)
			// One in twenty takes 500 ms, the others 26.
			const skewed = () => (random() < 0.05 ? 5.5 : 0.233)
			const limit = limitOf({ maxConcurrent: 400 })
			load(limit, server, 8_000, skewed)
			return (10_000 * server.serviceMs) / server.workers / load(limit, server, 10_000, skewed).elapsedMs
		})
		expect(meanOf(shares)).toBeGreaterThan(0.97)
	})

	it('tolerates the configured slowness', () => {
		const server = { workers: 20, serviceMs: 50 }
		const [little = 0, usual = 0, much = 0] = [1, 1.5, 2].map((latencyTolerance) =>
			settled(limitOf({ latencyTolerance }), server, seededRandom(1)),
		)
		expect(little).toBeLessThan(usual)
		expect(usual).toBeLessThan(much)
	})

	it('lowers the limit for a latency measurement only if most of it is in use', () => {
		const limit = limitOf({ maxConcurrent: 20 })
		const lightly = load(limit, { workers: 20, serviceMs: 50, callers: 8 }, 5_000, seededRandom(1)).limits
		expect(Math.min(...lightly)).toBe(20)
		const fully = load(limit, { workers: 20, serviceMs: 50 }, 5_000, seededRandom(1)).limits
		expect(Math.min(...fully)).toBeLessThanOrEqual(10)
	})

	it('measures rarely, and never below the minimum', () => {
		const limit = limitOf({ minConcurrent: 15, maxConcurrent: 20 })
		const { limits } = load(limit, { workers: 20, serviceMs: 50 }, 5_000, seededRandom(1))
		expect(Math.min(...limits)).toBe(15)
		expect(limits.filter((one) => one === 15).length).toBeLessThan(5_000 / 8)
	})

	it('ends a measurement when settings change', () => {
		const limit = limitOf({ maxConcurrent: 20 })
		while (limit.sample(50, false, limit.limit) === 20);
		expect(limit.limit).toBe(10)
		limit.update({ ...DEFAULTS, algorithm: 'aimd' })
		expect(limit.limit).toBe(20)
	})
})

describe('update', () => {
	it('applies to the rounds after it, and the running round decides nothing', () => {
		const limit = limitOf({ algorithm: 'aimd', initialConcurrent: 10 })
		samples(limit, 9, 50, 10)
		limit.update({ ...DEFAULTS, algorithm: 'aimd', maxConcurrent: 12 })
		const limits = Array.from({ length: 5 }, () => samples(limit, limit.limit, 50, limit.limit))
		expect(samples(limitOf({ algorithm: 'aimd', initialConcurrent: 10 }), 10, 50, 10)).toBe(11)
		expect(limits[0]).toBe(10)
		expect(limits.at(-1)).toBe(12)
	})
})
