import { describe, expect, it } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import { api, atOnce, every, serviceOf, setup, web } from '../setup.ts'
import { serve } from './serve.ts'

const pause = (fromMs: number, toMs: number): Fault => ({ kind: 'pause', fromMs, toMs })

describe('a pause', () => {
	it('delays the work in progress by its length', () => {
		expect(serve({ faults: [pause(4, 104)] }, { a: 0 })).toEqual(['a ok at 110'])
	})

	it('delays the work in progress of all workers, each with its own rest', () => {
		expect(serve({ faults: [pause(6, 106)], workers: 3 }, { a: 0, b: 2, c: 5 })).toEqual([
			'a ok at 110',
			'b ok at 112',
			'c ok at 115',
		])
	})

	it('keeps the queue, and queues new requests although workers are free', () => {
		expect(serve({ faults: [pause(5, 50)], workers: 2 }, { a: 0, b: 10, c: 20, d: 50 })).toEqual([
			'a ok at 55',
			'b ok at 60',
			'c ok at 65',
			'd ok at 70',
		])
	})

	it('fills the queue up to its limit', () => {
		expect(serve({ faults: [pause(5, 50)], queue: { limit: 1 } }, { a: 0, b: 10, c: 20 })).toEqual([
			'c 503 at 20',
			'a ok at 55',
			'b ok at 65',
		])
		expect(serve({ faults: [pause(5, 50)], queue: { limit: 0 }, workers: 5 }, { a: 10, b: 50 })).toEqual([
			'a 503 at 10',
			'b ok at 60',
		])
	})

	it('does not change work that ends when it begins, or starts when it ends', () => {
		expect(serve({ faults: [pause(10, 50)] }, { a: 0, b: 50 })).toEqual(['a ok at 10', 'b ok at 60'])
	})

	it('happens several times during one request', () => {
		expect(serve({ faults: [pause(3, 13), pause(15, 35), pause(100, 200)] }, { a: 0 })).toEqual([
			'a ok at 40',
		])
	})

	it('overlaps another pause: the service continues when the last one ends', () => {
		expect(serve({ faults: [pause(3, 20), pause(10, 30)] }, { a: 0 })).toEqual(['a ok at 37'])
		expect(serve({ faults: [pause(3, 20), pause(20, 30)] }, { a: 0, b: 1 })).toEqual([
			'a ok at 37',
			'b ok at 47',
		])
		expect(serve({ faults: [pause(20, 30), pause(3, 20)] }, { a: 0 })).toEqual(['a ok at 37'])
	})

	it('adds to a slowdown', () => {
		const faults: Fault[] = [{ kind: 'slowdown', factor: 3, fromMs: 0, toMs: 50 }, pause(10, 20)]
		expect(serve({ faults }, { a: 0 })).toEqual(['a ok at 40'])
	})

	it('loses everything if an outage begins during it', () => {
		const faults: Fault[] = [pause(5, 50), { kind: 'outage', fromMs: 20, toMs: 30 }]
		expect(serve({ faults }, { a: 0, b: 10, c: 25, d: 40 })).toEqual([
			'a ECONNRESET at 20',
			'b ECONNRESET at 20',
			'c ECONNREFUSED at 25',
			'd ok at 60',
		])
	})

	it('does not lose precision late in a long run', () => {
		const [late] = [1e12]
		const replies = serve(
			{ serviceTimeMs: 0.1, faults: [pause(late, late + 50)] },
			{ a: late - 0.05, b: late },
		)
		expect(replies.map((reply) => reply.slice(0, 4))).toEqual(['a ok', 'b ok'])
	})

	it('drops what has become too old when it ends, and takes the rest', () => {
		const queue = { maxAgeMs: 40 }
		expect(serve({ faults: [pause(0, 50)], queue }, { a: 1, b: 5, c: 20 })).toEqual([
			'a 503 at 50',
			'b 503 at 50',
			'c ok at 60',
		])
	})

	it('holds back the result of a dependency', () => {
		const result = simulate(
			setup({
				api: { serviceTimeMs: 10, faults: [pause(5, 100)], dependsOn: [{ to: 'db' }] },
				rest: { services: { db: { serviceTimeMs: 20 } } },
			}),
		)
		expect(result.endedAtMs).toBe(110)
		expect(serviceOf(result, 'db').inFlight.meanMs).toBe(20)
		const failed = simulate(
			setup({
				api: { serviceTimeMs: 10, faults: [pause(5, 100)], dependsOn: [{ to: 'db' }] },
				rest: {
					services: { db: { serviceTimeMs: 20, faults: [{ kind: 'errors', rate: 1, fromMs: 0, toMs: 50 }] } },
				},
			}),
		)
		expect([failed.endedAtMs, web(failed).failed]).toEqual([100, 1])
	})

	it('wastes the work whose callers stopped waiting', () => {
		const result = simulate(
			setup({
				api: { serviceTimeMs: 10, faults: [pause(5, 1_000)] },
				web: { arrivals: every(20, 3) },
				policy: [{ timeoutMs: 100 }],
			}),
		)
		expect(api(result)).toMatchObject({ useful: 0, wasted: 3 })
		expect(web(result).failed).toBe(3)
	})

	it('is a fault to recover from', () => {
		const result = simulate(
			setup({
				api: { serviceTimeMs: 10, faults: [pause(1_000, 2_000)] },
				web: { arrivals: { kind: 'constant', perSecond: 50, toMs: 20_000 }, goodWithinMs: 100 },
			}),
		)
		// The backlog of 50 requests is processed at 50 more per second than arrive: it takes as long as the pause.
		expect(result.recovery).toMatchObject({ faultEndedAtMs: 2_000 })
		expect(Math.abs((result.recovery?.healthyAfterMs ?? 0) - 900)).toBeLessThanOrEqual(100)
	})

	it('costs nothing where it does not happen: the run is the same to the last event', () => {
		const hash = (faults: readonly Fault[]) =>
			simulate(setup({ api: { faults }, web: { arrivals: atOnce(50) }, rest: { durationMs: 5_000 } }))
				.traceHash
		// Two events: its start and its end. They are beyond the end of the run.
		expect(hash([pause(6_000, 7_000)])).toBe(hash([]))
	})
})
