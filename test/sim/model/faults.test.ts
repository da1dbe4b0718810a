import { describe, expect, it } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import { api, atOnce, every, setup, web } from '../setup.ts'
import { serve } from './serve.ts'

const outage = (fromMs: number, toMs: number, mode?: 'refuse' | 'hang'): Fault => ({
	kind: 'outage',
	fromMs,
	toMs,
	mode,
})

describe('an outage of a share of the requests', () => {
	const quarter = (mode: 'refuse' | 'hang') =>
		simulate(
			setup({
				api: {
					workers: Infinity,
					faults: [{ kind: 'outage', mode, share: 0.25, fromMs: 1_000, toMs: 9_000 }],
				},
				web: { arrivals: every(1, 10_000) },
				rest: { durationMs: 20_000 },
			}),
		)

	it('refuses about that share, and serves the others as before', () => {
		const { failed, good, latency } = web(quarter('refuse'))
		expect(failed).toBeGreaterThan(1_850)
		expect(failed).toBeLessThan(2_150)
		expect(good).toBe(10_000 - failed)
		expect(latency.maxMs).toBe(10)
	})

	it('never responds to about that share', () => {
		const { failed, unfinished } = web(quarter('hang'))
		expect(failed).toBe(0)
		expect(unfinished).toBeGreaterThan(1_850)
		expect(unfinished).toBeLessThan(2_150)
	})

	it('keeps the requests that it has', () => {
		const partial: Fault = { kind: 'outage', share: 0, fromMs: 15, toMs: 16 }
		expect(serve({ faults: [partial] }, { a: 0, b: 0 })).toEqual(['a ok at 10', 'b ok at 20'])
	})
})

describe('an outage', () => {
	it('fails immediately, from start to end, with mode refuse', () => {
		expect(serve({ faults: [outage(20, 40)] }, { a: 0, b: 20, c: 39, d: 40 })).toEqual([
			'a ok at 10',
			'b ECONNREFUSED at 20',
			'c ECONNREFUSED at 39',
			'd ok at 50',
		])
	})

	it('never responds with mode hang', () => {
		expect(serve({ faults: [outage(20, 40, 'hang')] }, { a: 0, b: 20, c: 39, d: 40 })).toEqual([
			'a ok at 10',
			'd ok at 50',
		])
	})

	it('loses its requests with ECONNRESET, with mode refuse', () => {
		expect(serve({ faults: [outage(15, 16)] }, { a: 0, b: 0, c: 0, d: 16 })).toEqual([
			'a ok at 10',
			'b ECONNRESET at 15',
			'c ECONNRESET at 15',
			'd ok at 26',
		])
	})

	it('loses its requests silently, with mode hang', () => {
		expect(serve({ faults: [outage(15, 16, 'hang')] }, { a: 0, b: 0, c: 0, d: 16 })).toEqual([
			'a ok at 10',
			'd ok at 26',
		])
	})

	it('wastes the work in progress and frees the workers', () => {
		const result = simulate(
			setup({ api: { serviceTimeMs: 10, faults: [outage(4, 5)] }, web: { arrivals: every(6, 2) } }),
		)
		expect(api(result)).toMatchObject({ useful: 1, usefulMs: 10, wasted: 1, wastedMs: 4, failed: 1 })
		expect(result.endedAtMs).toBe(16)
	})

	it('does not affect a response in transit', () => {
		expect(serve({ latencyMs: 5, faults: [outage(16, 30)] }, { a: 0 })).toEqual(['a ok at 20'])
	})

	it('affects a request in transit', () => {
		expect(serve({ latencyMs: 5, faults: [outage(3, 30)] }, { a: 0 })).toEqual(['a ECONNREFUSED at 10'])
	})

	it('leaves calls without a timeout unfinished', () => {
		const hanging = setup({ api: { faults: [outage(0, 50, 'hang')] }, web: { arrivals: every(25, 4) } })
		const { totals } = simulate(hanging)
		expect(web(simulate(hanging))).toMatchObject({ calls: 4, good: 2, failed: 0, unfinished: 2 })
		// A call that hangs is not good.
		expect(totals.goodShare).toBe(0.5)
	})
})

describe('faults that overlap', () => {
	it('keep the service down until the last one ends', () => {
		const faults = [outage(10, 30), outage(20, 50)]
		expect(serve({ faults, serviceTimeMs: 1 }, { a: 0, b: 15, c: 25, d: 35, e: 50 })).toEqual([
			'a ok at 1',
			'b ECONNREFUSED at 15',
			'c ECONNREFUSED at 25',
			'd ECONNREFUSED at 35',
			'e ok at 51',
		])
	})

	it('act as one if there is no gap', () => {
		const faults = [outage(10, 20), outage(20, 30)]
		expect(serve({ faults, serviceTimeMs: 1 }, { a: 20, b: 30 })).toEqual([
			'a ECONNREFUSED at 20',
			'b ok at 31',
		])
		expect(serve({ faults: faults.toReversed(), serviceTimeMs: 1 }, { a: 20, b: 30 })).toEqual([
			'a ECONNREFUSED at 20',
			'b ok at 31',
		])
	})

	it('use the mode of the latest outage', () => {
		const faults = [outage(0, 100, 'hang'), outage(20, 40, 'refuse')]
		expect(serve({ faults }, { a: 10, b: 30, c: 50 })).toEqual(['b ECONNREFUSED at 30'])
	})

	it('multiply slowdown factors, even of the same object', () => {
		const slow: Fault = { kind: 'slowdown', factor: 3, fromMs: 0, toMs: 50 }
		const slower: Fault = { kind: 'slowdown', factor: 2, fromMs: 40, toMs: 200 }
		expect(serve({ faults: [slow, slower], workers: 9 }, { a: 0, b: 45, c: 60, d: 200 })).toEqual([
			'a ok at 30',
			'c ok at 80',
			'b ok at 105',
			'd ok at 210',
		])
		expect(serve({ faults: [slow, slow] }, { a: 0 })).toEqual(['a ok at 90'])
	})

	it('combine error rates as independent causes', () => {
		const half: Fault = { kind: 'errors', rate: 0.5, fromMs: 0, toMs: 1e6 }
		const result = simulate(
			setup({
				api: { serviceTimeMs: 0, faults: [half, { ...half, rate: 0.2 }] },
				web: { arrivals: every(1, 10_000) },
			}),
		)
		expect(Math.abs(web(result).failed - 6_000)).toBeLessThan(5 * Math.sqrt(10_000 * 0.6 * 0.4))
	})

	it('give precedence to an outage', () => {
		const faults: Fault[] = [{ kind: 'errors', rate: 1, fromMs: 0, toMs: 50 }, outage(20, 40)]
		expect(serve({ faults, serviceTimeMs: 1 }, { a: 10, b: 30, c: 45 })).toEqual([
			'a 500 at 11',
			'b ECONNREFUSED at 30',
			'c 500 at 46',
		])
	})
})

describe('a slowdown', () => {
	const faults: Fault[] = [{ kind: 'slowdown', factor: 5, fromMs: 20, toMs: 40 }]

	it('applies to requests that start during it, until they end', () => {
		expect(serve({ faults, workers: 9 }, { a: 15, b: 20, c: 39, d: 40 })).toEqual([
			'a ok at 25',
			'd ok at 50',
			'b ok at 70',
			'c ok at 89',
		])
	})

	it('applies to requests that were queued before and start during it', () => {
		expect(serve({ faults }, { a: 12, b: 13 })).toEqual(['a ok at 22', 'b ok at 72'])
	})
})

describe('an error rate', () => {
	const errors = (rate: number, status?: number): Fault => ({
		kind: 'errors',
		rate,
		status,
		fromMs: 0,
		toMs: 1e6,
	})

	it('is the share of error responses with its status, after the full service time', () => {
		expect(serve({ faults: [errors(1, 503)] }, { a: 0 })).toEqual(['a 503 at 10'])
		expect(serve({ faults: [errors(1)] }, { a: 0 })).toEqual(['a 500 at 10'])
		expect(serve({ faults: [errors(0)] }, { a: 0 })).toEqual(['a ok at 10'])
		const result = simulate(
			setup({ api: { serviceTimeMs: 0, faults: [errors(0.3)] }, web: { arrivals: every(1, 10_000) } }),
		)
		expect(Math.abs(web(result).failed - 3_000)).toBeLessThan(5 * Math.sqrt(10_000 * 0.3 * 0.7))
		expect(api(result).failed).toBe(web(result).failed)
	})

	it('is wasted work', () => {
		const { totals } = simulate(setup({ api: { faults: [errors(1)] }, web: { arrivals: atOnce(3) } }))
		expect(totals).toMatchObject({ wastedShare: 1, goodShare: 0 })
	})

	it('applies to responses during it, whenever they started', () => {
		const faults: Fault[] = [{ kind: 'errors', rate: 1, fromMs: 20, toMs: 30 }]
		expect(serve({ faults, workers: 9 }, { a: 9, b: 15, c: 25 })).toEqual([
			'a ok at 19',
			'b 500 at 25',
			'c ok at 35',
		])
	})

	it('gives a policy the same error as in production', () => {
		const met = (status: number) =>
			web(simulate(setup({ api: { faults: [errors(1, status)] }, policy: [{ retry: { maxRetries: 3 } }] })))
				.requests
		// A 503 is retried; a 400 is not.
		expect([met(503), met(500), met(429), met(400), met(404)]).toEqual([4, 4, 4, 1, 1])
	})
})
