import { describe, expect, it } from 'vitest'
import { replicate, type Scenario, simulate } from 'yaoki/sim'
import { estimate } from '../../../src/sim/measure/estimate.ts'
import { readMeasure } from '../../../src/sim/measure/measures.ts'
import { api, clientOf, every, serviceOf, setup, sum, web } from '../setup.ts'

describe('an M/M/1 queue that starts empty', () => {
	/** At 80 % of its capacity: 3.2 requests are queued on average. */
	const EXACT = 3.2
	const meanQueue = (warmUpMs: number) => {
		const scenario = setup({
			api: { serviceTimeMs: { kind: 'exponential', meanMs: 10 } },
			web: { arrivals: { kind: 'poisson', perSecond: 80 } },
			rest: { durationMs: warmUpMs + 2_000, warmUpMs },
		})
		return estimate(replicate(scenario, { replications: 120 }).runs.map((run) => api(run).queue.mean))
	}

	it('is too short on average at first', () => {
		expect(meanQueue(0).high).toBeLessThan(EXACT)
	})

	it('agrees with the closed form without its warm-up', () => {
		const { low, high } = meanQueue(5_000)
		expect(low).toBeLessThan(EXACT)
		expect(high).toBeGreaterThan(EXACT)
	})
})

describe('a warm-up', () => {
	const scenario = (rest: Partial<Scenario>): Scenario => ({
		durationMs: 10_000,
		services: {
			shop: { workers: 20, serviceTimeMs: 20, dependsOn: [{ to: 'db', policy: 'toDb' }] },
			db: {
				serviceTimeMs: 5,
				queue: { limit: 3 },
				faults: [{ kind: 'errors', rate: 0.3, fromMs: 0, toMs: 9e9 }],
			},
		},
		clients: {
			web: { to: 'shop', arrivals: { kind: 'poisson', perSecond: 100 }, policy: 'web', goodWithinMs: 60 },
		},
		policies: {
			web: [{ retry: { maxRetries: 1, baseDelayMs: 20 } }],
			toDb: [{ retry: { maxRetries: 1, baseDelayMs: 10 } }],
		},
		...rest,
	})
	const [whole, cut] = [simulate(scenario({})), simulate(scenario({ warmUpMs: 4_000 }))]

	it('does not change what happens, nor the timeline', () => {
		expect([cut.traceHash, cut.events, cut.endedAtMs]).toEqual([whole.traceHash, whole.events, 10_000])
		expect(cut.timeline).toEqual(whole.timeline)
		expect([whole.warmUpMs, cut.warmUpMs]).toEqual([0, 4_000])
	})

	it('leaves out the calls that start before its end', () => {
		const { startedGood, startedBad, started } = whole.timeline.clients['web'] ?? {}
		const since4s = (steps: readonly number[] = []) => sum(steps.slice(4_000 / whole.timeline.stepMs))
		expect(web(cut)).toMatchObject({ calls: since4s(started), good: since4s(startedGood) })
		expect(web(cut).late + web(cut).failed).toBe(since4s(startedBad))
		expect(cut.totals.offeredPerSecond).toBeCloseTo(since4s(started) / 6, 9)
		expect(cut.totals.goodShare).toBe(clientOf(cut, 'web').goodShare)
		expect(web(cut).unfinished).toBe(web(whole).unfinished)
	})

	it('leaves out the requests that start before its end', () => {
		for (const name of ['shop', 'db']) {
			const [all, some] = [serviceOf(whole, name), serviceOf(cut, name)]
			for (const field of ['requests', 'useful', 'usefulMs'] as const) {
				expect(some[field]).toBeLessThan(0.65 * all[field])
				expect(some[field]).toBeGreaterThan(0.55 * all[field])
			}
			expect(some.useful + some.wasted + some.rejected).toBeLessThanOrEqual(some.requests)
			expect(some.utilization).toBeCloseTo(all.utilization, 1)
		}
		expect(serviceOf(cut, 'shop').retries).toBeLessThan(0.65 * serviceOf(whole, 'shop').retries)
		expect(cut.totals.retries).toBe(web(cut).retries + serviceOf(cut, 'shop').retries)
	})

	it('leaves out a first burst in every figure', () => {
		const burst = { kind: 'trace', atMs: [...Array(50).fill(0), 1_000, 2_000] } as const
		const result = simulate(setup({ web: { arrivals: burst }, rest: { warmUpMs: 1_000 } }))
		expect(web(result)).toMatchObject({ calls: 2, good: 2, requests: 2, latency: { maxMs: 10 } })
		expect(api(result)).toMatchObject({
			requests: 2,
			useful: 2,
			queue: { mean: 0, max: 0, age: { maxMs: 0 } },
			inFlight: { count: 2, meanMs: 10 },
		})
		expect(readMeasure('peakPerSecond', result)).toBe(10)
		expect(result.totals.lastResponseAtMs).toBe(2_010)
	})

	it('counts a queue that is still there at its end', () => {
		const result = simulate(setup({ web: { arrivals: every(0, 50) }, rest: { warmUpMs: 205 } }))
		expect(api(result).queue).toMatchObject({ max: 29, age: { maxMs: 0 } })
		expect(api(result).queue.mean).toBeGreaterThan(10)
		expect(api(result).utilization).toBe(1)
	})

	it('leaves out the calls that are no measure of what is normal', () => {
		// Calls fail until the service is up, and then succeed.
		const recovers = (warmUpMs: number) =>
			simulate(
				setup({
					api: {
						queue: { limit: 0 },
						faults: [{ kind: 'outage', fromMs: 10_000, toMs: 12_000 }],
					},
					web: { arrivals: { kind: 'poisson', perSecond: 10 } },
					rest: {
						durationMs: 40_000,
						warmUpMs,
						clients: {
							first: { to: 'api', arrivals: { kind: 'constant', perSecond: 500, toMs: 5_000 } },
							last: { to: 'api', arrivals: { kind: 'constant', perSecond: 60, fromMs: 13_000 } },
						},
					},
				}),
			)
		expect(clientOf(recovers(0), 'web').recovery?.status).toBe('recovered')
		expect(clientOf(recovers(5_000), 'web').recovery?.status).toBe('not-recovered')
	})

	it('must be shorter than the run', () => {
		expect(() => simulate(scenario({ warmUpMs: 10_000 }))).toThrow('more than warmUpMs, which is 10000')
	})
})
