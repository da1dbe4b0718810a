import { describe, expect, it } from 'vitest'
import { type ClientModel, type PolicyLayer, simulate } from 'yaoki/sim'
import { serviceOf, web } from '../scene.ts'

const writers = (arrivals: ClientModel['arrivals'], policy?: readonly PolicyLayer[], latency = 10) =>
	simulate({
		until: 'idle',
		services: { row: { kind: 'optimistic-lock', latency } },
		clients: { web: { to: 'row', arrivals, ...(policy ? { policy: 'writer' } : {}) } },
		policies: { writer: policy ?? [] },
	})

const twoAt = (first: number, second: number): ClientModel['arrivals'] => ({
	kind: 'trace',
	atMs: [first, second],
})

describe('a row', () => {
	it('is written in four messages: a read and its answer, a write and its answer', () => {
		const result = writers({ kind: 'trace', atMs: [0] })
		expect([result.totals.lastResponseAtMs, result.events]).toEqual([40, 5])
		expect(serviceOf(result, 'row')).toMatchObject({ requests: 1, useful: 1, wasted: 0 })
	})

	it('lets only the first of two write who have read the same version', () => {
		const result = writers(twoAt(0, 1))
		expect(web(result)).toMatchObject({ good: 1, failed: 1 })
		expect(serviceOf(result, 'row')).toMatchObject({ requests: 2, useful: 1, wasted: 1, failed: 1 })
	})

	it('lets two write of whom the second read after the first had written', () => {
		// The first reads at 10 and writes at 30; the second reads just after that.
		expect(web(writers(twoAt(0, 20.001))).good).toBe(2)
		expect(web(writers(twoAt(0, 19.999))).good).toBe(1)
	})

	it('that loses a race is read and written again by a retry', () => {
		const result = writers(twoAt(0, 1), [{ retry: { baseDelayMs: 5, jitterStrategy: 'none' } }])
		expect(web(result)).toMatchObject({ good: 2, requests: 3, retries: 1 })
		// The loser hears of it at 41, waits 5, and needs another round.
		expect(result.totals.lastResponseAtMs).toBe(86)
	})

	it('of N who come together lets exactly one through each round', () => {
		const result = writers({ kind: 'closed', users: 6, callsEach: 1 }, [
			{ retry: { maxRetries: 20, baseDelayMs: 0, growth: 'constant', jitterStrategy: 'none' } },
		])
		expect(serviceOf(result, 'row').requests).toBe(6 + 5 + 4 + 3 + 2 + 1)
		expect(result.totals.lastResponseAtMs).toBe(6 * 40)
		expect(result.totals.amplification).toBe(21 / 6)
	})

	it('has no workers that could be full, and takes no time by itself', () => {
		const row = serviceOf(writers(twoAt(0, 1), undefined, 0), 'row')
		expect(row).toMatchObject({ utilization: 0, capacityPerSecond: null, usefulMs: 0, wastedMs: 0 })
	})
})
