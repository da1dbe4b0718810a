import { describe, expect, it } from 'vitest'
import { type PolicyLayer, type ServerModel, simulate } from 'yaoki/sim'
import type { QueueModel } from '../../../src/sim/scenario/scenario.ts'
import { api, atOnce, every, setup, sum, web } from '../setup.ts'
import { serve } from './serve.ts'

describe('workers', () => {
	it('process one request at a time each', () => {
		expect(serve({ workers: 2, serviceTimeMs: 10 }, { a: 0, b: 1, c: 2, d: 3 })).toEqual([
			'a ok at 10',
			'b ok at 11',
			'c ok at 20',
			'd ok at 21',
		])
	})

	it('never queue without a limit', () => {
		const { queue, utilization, capacityPerSecond } = api(
			simulate(setup({ api: { workers: Infinity }, web: { arrivals: atOnce(500) } })),
		)
		expect([queue.max, utilization, capacityPerSecond]).toEqual([0, 0, null])
	})

	it('respond immediately, one after the other, without a service time', () => {
		expect(serve({ serviceTimeMs: 0 }, { a: 5, b: 5 })).toEqual(['a ok at 5', 'b ok at 5'])
	})

	it('are busy only while they work', () => {
		const result = simulate(
			setup({
				api: { workers: 2, serviceTimeMs: 100 },
				web: { arrivals: atOnce(3) },
				rest: { durationMs: 400 },
			}),
		)
		expect(api(result).utilization).toBeCloseTo(300 / 2 / 400, 12)
		expect(api(result).usefulMs).toBe(300)
	})

	it('latency applies to the request and to the response', () => {
		expect(serve({ serviceTimeMs: 10, latencyMs: 3 }, { a: 0, b: 0 })).toEqual(['a ok at 16', 'b ok at 26'])
		expect(serve({ latencyMs: 3, queue: { limit: 0 } }, { a: 0, b: 1 })).toEqual(['b 503 at 7', 'a ok at 16'])
	})
})

describe('the capacity of a service', () => {
	const capacity = (model: Partial<ServerModel>) => api(simulate(setup({ api: model }))).capacityPerSecond

	it.each([
		['its workers by the mean of their time', { workers: 5, serviceTimeMs: 100 }, 50],
		['of a law, by its mean', { workers: 2, serviceTimeMs: { kind: 'uniform', minMs: 10, maxMs: 30 } }, 100],
		['no more than it lets in', { workers: 5, serviceTimeMs: 10, rateLimit: { perSecond: 40 } }, 40],
		[
			'that of its rate limit, when nothing else limits it',
			{ workers: Infinity, rateLimit: { perSecond: 9 } },
			9,
		],
		['unknown where nothing limits it', { serviceTimeMs: 0 }, null],
	] as const)('is %s', (_what, model, expected) => {
		expect(capacity(model)).toBe(expected)
	})
})

describe('a queue', () => {
	const four = { a: 0, b: 1, c: 2, d: 3 }

	it('is first in, first out', () => {
		expect(serve({}, four)).toEqual(['a ok at 10', 'b ok at 20', 'c ok at 30', 'd ok at 40'])
	})

	it('is last in, first out with order: lifo', () => {
		expect(serve({ queue: { order: 'lifo' } }, { ...four, e: 12 })).toEqual([
			'a ok at 10',
			'd ok at 20',
			'e ok at 30',
			'c ok at 40',
			'b ok at 50',
		])
	})

	it('rejects excess requests with 503 immediately if it has a limit', () => {
		expect(serve({ queue: { limit: 2 } }, { ...four, e: 11 })).toEqual([
			'd 503 at 3',
			'a ok at 10',
			'b ok at 20',
			'c ok at 30',
			'e ok at 40',
		])
	})

	it('admits only requests that find a free worker, with limit 0', () => {
		expect(serve({ workers: 2, queue: { limit: 0 } }, four)).toEqual([
			'c 503 at 2',
			'd 503 at 3',
			'a ok at 10',
			'b ok at 11',
		])
	})

	it('is measured by length and by the queue time of processed requests', () => {
		const { queue, inFlight, rejected } = api(
			simulate(
				setup({ api: { queue: { limit: 2 } }, web: { arrivals: atOnce(5) }, rest: { durationMs: 100 } }),
			),
		)
		expect([queue.max, queue.mean, rejected]).toEqual([2, (2 * 10 + 10) / 100, 2])
		expect([queue.age.meanMs, queue.age.maxMs]).toEqual([15, 20])
		expect([inFlight.count, inFlight.meanMs, inFlight.mean]).toEqual([3, 20, 0.6])
	})

	it('is lost when the service goes down', () => {
		const faults = [{ kind: 'outage', fromMs: 15, toMs: 20 }] as const
		const result = simulate(setup({ api: { faults }, web: { arrivals: atOnce(5) } }))
		const { useful, wasted, unreachable, queue, inFlight } = api(result)
		// One was done, one in progress, three queued, and none was taken from the queue later.
		expect({ useful, wasted, unreachable, waited: queue.age.maxMs, present: inFlight.count }).toEqual({
			useful: 1,
			wasted: 1,
			unreachable: 3,
			waited: 10,
			present: 5,
		})
		expect(web(result)).toMatchObject({ good: 1, failed: 4, unfinished: 0 })
	})
})

describe('requests whose caller has stopped waiting', () => {
	const impatient: readonly PolicyLayer[] = [{ timeoutMs: 25 }]
	const met = (queue: QueueModel) =>
		simulate(setup({ api: { queue }, web: { arrivals: atOnce(10) }, policy: impatient }))

	it('are processed anyway, as wasted work', () => {
		const { useful, wasted, wastedMs, dropped } = api(met({}))
		expect({ useful, wasted, wastedMs, dropped }).toEqual({ useful: 2, wasted: 8, wastedMs: 80, dropped: 0 })
		expect(met({}).totals.wastedShare).toBe(0.8)
	})

	it('are dropped with dropExpired', () => {
		const { useful, wasted, dropped, queue } = api(met({ dropExpired: true }))
		// The third started at 20 and timed out at 25; the other seven were still queued.
		expect({ useful, wasted, dropped }).toEqual({ useful: 2, wasted: 1, dropped: 7 })
		expect(queue.age.maxMs).toBe(20)
		expect(web(met({ dropExpired: true }))).toEqual(web(met({})))
	})

	it('are dropped by maxAgeMs, and waiting callers get a 503', () => {
		const patient = simulate(setup({ api: { queue: { maxAgeMs: 15 } }, web: { arrivals: atOnce(5) } }))
		expect(api(patient)).toMatchObject({ useful: 2, wasted: 0, dropped: 3 })
		expect(web(patient)).toMatchObject({ good: 2, failed: 3 })
		expect(serve({ queue: { maxAgeMs: 10 } }, { a: 0, b: 0, c: 9, d: 15 })).toEqual([
			'a ok at 10',
			'c 503 at 20',
			'b ok at 20',
			'd ok at 30',
		])
	})

	it('do not find a free worker when they retry immediately', () => {
		const { utilization, useful, dropped } = api(
			simulate(
				setup({
					api: { queue: { maxAgeMs: 15 } },
					web: { arrivals: { kind: 'trace', atMs: [0, 0, 0, 0, 9, 9, 9, 18] } },
					policy: [{ retry: { baseDelayMs: 0, maxRetries: 50 } }],
				}),
			),
		)
		expect(utilization).toBeLessThanOrEqual(1)
		expect([useful, dropped > 0]).toEqual([8, true])
	})

	it('do not exist for a client without a policy', () => {
		const result = simulate(setup({ api: { queue: { dropExpired: true } }, web: { arrivals: atOnce(10) } }))
		expect(api(result)).toMatchObject({ useful: 10, wasted: 0, dropped: 0 })
	})

	it('occupy the service completely when they are retried', () => {
		const storm = simulate(
			setup({
				web: { arrivals: every(12, 400) },
				api: { faults: [{ kind: 'slowdown', factor: 20, fromMs: 500, toMs: 900 }] },
				policy: [{ retry: { maxRetries: 4, baseDelayMs: 1 } }, { timeoutMs: 25 }],
				rest: { durationMs: 4_800 },
			}),
		)
		const { useful = [], wasted = [] } = storm.timeline.services['api'] ?? {}
		expect(sum(useful.slice(0, 5))).toBeGreaterThan(35)
		expect(sum(useful.slice(20))).toBe(0)
		expect(sum(wasted.slice(20))).toBeGreaterThan(250)
	})
})
