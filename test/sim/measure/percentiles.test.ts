import { describe, expect, it } from 'vitest'
import { expectResilience, replicate, type Scenario, simulate } from 'yaoki/sim'
import { readMeasure } from '../../../src/sim/measure/measures.ts'
import { clientOf, every, setup, web } from '../setup.ts'

/** M/M/1 at half of its capacity. */
const queue: Scenario = setup({
	api: { serviceTimeMs: { kind: 'exponential', meanMs: 10 } },
	web: { arrivals: { kind: 'poisson', perSecond: 50 } },
	rest: { durationMs: 60_000 },
})

describe('percentiles of several runs', () => {
	const { runs, measures } = replicate(queue, { replications: 10 })

	it.each(['p50Ms', 'p99Ms', 'p999Ms'] as const)(
		'have an interval around the %s of an M/M/1 queue',
		(name) => {
			const { low, mean, high } = measures[name]
			expect(low).toBeLessThan(mean)
			expect(mean).toBeLessThan(high)
		},
	)

	it('are never equal because of the width of a bucket', () => {
		for (const name of ['p50Ms', 'p99Ms'] as const)
			expect(new Set(runs.map((run) => readMeasure(name, run))).size).toBe(10)
	})

	it('agree with the closed form: the latency is exponential with a mean of 20 ms', () => {
		// -20 ms x ln(0.5), and x ln(0.01).
		for (const [name, exact] of [['p50Ms', 13.86] as const, ['p99Ms', 92.1] as const]) {
			expect(measures[name].low).toBeLessThan(exact)
			expect(measures[name].high).toBeGreaterThan(exact)
		}
	})
})

describe('a latency that is always the same', () => {
	const constant = setup({ web: { arrivals: every(100, 50) }, api: { serviceTimeMs: 10.25 } })

	it('is exact in every percentile, and its interval is the value itself', () => {
		const { measures } = replicate(constant, { replications: 5 })
		for (const name of ['p50Ms', 'p99Ms', 'p999Ms'] as const)
			expect(measures[name]).toMatchObject({ mean: 10.25, low: 10.25, high: 10.25 })
	})

	it('is exact among other values', () => {
		const arrivals = { kind: 'trace', atMs: [0, 0, 100, 200, 300, 400, 500, 600] } as const
		const { latency } = web(simulate(setup({ web: { arrivals }, api: { serviceTimeMs: 10.25 } })))
		expect(latency).toMatchObject({ p50Ms: 10.25, p99Ms: 20.5, p999Ms: 20.5, maxMs: 20.5 })
	})
})

describe('the latency of failed calls', () => {
	const result = simulate({
		durationMs: 10_000,
		services: {
			api: { serviceTimeMs: 10 },
			dead: { serviceTimeMs: 10, faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] },
		},
		clients: {
			web: { to: 'api', arrivals: every(100, 10) },
			jobs: { to: 'dead', arrivals: every(100, 10), policy: 'job' },
		},
		policies: {
			job: [{ retry: { maxRetries: 1, baseDelayMs: 40, growth: 'constant', jitterStrategy: 'none' } }],
		},
	})

	it('is reported by client and in total, apart from successful ones', () => {
		const zeros = { meanMs: 0, p50Ms: 0, p90Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0 }
		const failures = { meanMs: 40, p50Ms: 40, p90Ms: 40, p99Ms: 40, p999Ms: 40, maxMs: 40 }
		expect(clientOf(result, 'web')).toMatchObject({ latency: { maxMs: 10 }, failureLatency: zeros })
		expect(clientOf(result, 'jobs')).toMatchObject({ latency: zeros, failureLatency: failures })
		expect(result.totals).toMatchObject({ latency: { maxMs: 10 }, failureLatency: failures })
		expectResilience(result).measure('failureP99Ms', '<=', 40)
	})

	it('is missing as a measure if no call failed', () => {
		expect(readMeasure('failureP99Ms', simulate(setup()))).toBe(null)
	})

	it('comes with the share of good calls of each client, and of the worst', () => {
		expect([clientOf(result, 'web').goodShare, clientOf(result, 'jobs').goodShare]).toEqual([1, 0])
		expect(result.totals.goodShare).toBe(0.5)
		expect(readMeasure('worstGoodShare', result)).toBe(0)
		expect(() => expectResilience(result).measure('worstGoodShare', '>', 0.9)).toThrow(
			'worstGoodShare: expected > 0.9, got 0 (seed 1)',
		)
		const idle = setup({ rest: { clients: { idle: { to: 'api', arrivals: { kind: 'trace', atMs: [] } } } } })
		expect(readMeasure('worstGoodShare', simulate(idle))).toBe(1)
	})
})
