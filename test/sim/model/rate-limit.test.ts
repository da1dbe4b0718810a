import { describe, expect, it } from 'vitest'
import { simulate } from 'yaoki/sim'
import { RateLimit } from '../../../src/sim/model/server.ts'
import { api, atOnce, every, setup, web } from '../setup.ts'
import { serve } from './serve.ts'

describe('a rate limit', () => {
	it('admits perSecond requests, and a burst after a pause', () => {
		const limit = new RateLimit({ perSecond: 10, burst: 3 })
		const admitted = (now: number) => [1, 2, 3, 4].filter(() => limit.take(now)).length
		expect([admitted(0), admitted(100), admitted(300), admitted(5_000)]).toEqual([3, 1, 2, 3])
	})

	it('has a default burst of one second, at least 1', () => {
		const admitted = (limit: RateLimit) =>
			Array.from({ length: 50 }, () => limit.take(0)).filter(Boolean).length
		expect(admitted(new RateLimit({ perSecond: 20 }))).toBe(20)
		expect(admitted(new RateLimit({ perSecond: 0.1 }))).toBe(1)
	})

	it('admits every request at exactly its rate, for any length', () => {
		for (const perSecond of [3, 7, 10, 1_000 / 3]) {
			const limit = new RateLimit({ perSecond, burst: 1 })
			const all = Array.from({ length: 10_000 }, (_, index) => limit.take((index * 1_000) / perSecond))
			expect(all).toEqual(new Array(10_000).fill(true))
		}
	})

	it('reports when the next token is available', () => {
		const limit = new RateLimit({ perSecond: 3, burst: 1 })
		expect([limit.take(0), limit.take(0), limit.retryAfterMs]).toEqual([true, false, 334])
		expect([limit.take(333), limit.take(334)]).toEqual([false, true])
	})

	it('responds with 429 immediately, without a worker', () => {
		expect(serve({ rateLimit: { perSecond: 1, burst: 1 } }, { a: 0, b: 1, c: 1_000 })).toEqual([
			'b 429 at 1',
			'a ok at 10',
			'c ok at 1010',
		])
		const result = simulate(
			setup({
				api: { rateLimit: { perSecond: 1, burst: 2 }, serviceTimeMs: 10 },
				web: { arrivals: atOnce(9) },
			}),
		)
		expect(api(result)).toMatchObject({ rateLimited: 7, rejected: 0, useful: 2, wasted: 0, usefulMs: 20 })
		expect(api(result).inFlight.count).toBe(2)
	})
})

describe('Retry-After', () => {
	const met = (retryAfter: boolean | undefined) =>
		simulate(
			setup({
				api: { rateLimit: { perSecond: 2, burst: 1, retryAfter } },
				web: { arrivals: every(1, 2) },
				policy: [{ retry: { maxRetries: 9, baseDelayMs: 10, jitterStrategy: 'none' } }],
			}),
		)

	it('is honored by a retry', () => {
		expect(web(met(undefined))).toMatchObject({ good: 2, requests: 3 })
		// At 1 ms: retry after 499 ms, plus jitter of up to a quarter.
		expect(met(true).totals.lastResponseAtMs).toBeGreaterThanOrEqual(510)
		expect(met(true).totals.lastResponseAtMs).toBeLessThan(636)
	})

	it('leaves the delay to the backoff if it is not sent', () => {
		expect(web(met(false))).toMatchObject({ good: 2, requests: 8 })
	})

	it('is honored across a hop that passes the context', () => {
		const beyond = (passContext: boolean) =>
			simulate({
				...setup({
					api: { dependsOn: [{ to: 'quota', passContext }] },
					web: { arrivals: every(20, 2) },
					policy: [{ retry: { maxRetries: 9, baseDelayMs: 10, jitterStrategy: 'none' } }],
				}),
				services: {
					api: { serviceTimeMs: 1, dependsOn: [{ to: 'quota', passContext }] },
					quota: { serviceTimeMs: 1, rateLimit: { perSecond: 2, burst: 1 } },
				},
			})
		expect(web(beyond(false)).requests).toBeGreaterThan(4)
		expect(web(beyond(true)).good).toBe(2)
	})
})
