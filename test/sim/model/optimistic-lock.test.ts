import { describe, expect, it } from 'vitest'
import { type ClientModel, type PolicyLayer, simulate } from 'yaoki/sim'
import { serviceOf, web } from '../setup.ts'

const writers = (arrivals: ClientModel['arrivals'], policy?: readonly PolicyLayer[], latency = 10) =>
	simulate({
		until: 'idle',
		services: { row: { kind: 'optimistic-lock', latencyMs: latency } },
		clients: { web: { to: 'row', arrivals, ...(policy ? { policy: 'writer' } : {}) } },
		policies: { writer: policy ?? [] },
	})

const twoAt = (first: number, second: number): ClientModel['arrivals'] => ({
	kind: 'trace',
	atMs: [first, second],
})

describe('an optimistic lock', () => {
	it('needs four messages: read, response, write, response', () => {
		const result = writers({ kind: 'trace', atMs: [0] })
		expect([result.totals.lastResponseAtMs, result.events]).toEqual([40, 5])
		expect(serviceOf(result, 'row')).toMatchObject({ requests: 1, useful: 1, wasted: 0 })
	})

	it('lets only the first of two writes of the same version succeed', () => {
		const result = writers(twoAt(0, 1))
		expect(web(result)).toMatchObject({ good: 1, failed: 1 })
		expect(serviceOf(result, 'row')).toMatchObject({ requests: 2, useful: 1, wasted: 1, failed: 1 })
	})

	it('lets a write succeed that read after the write before', () => {
		// The first reads at 10 and writes at 30; the second reads right after.
		expect(web(writers(twoAt(0, 20.001))).good).toBe(2)
		expect(web(writers(twoAt(0, 19.999))).good).toBe(1)
	})

	it('is read and written again by a retry', () => {
		const result = writers(twoAt(0, 1), [{ retry: { baseDelayMs: 5, jitterStrategy: 'none' } }])
		expect(web(result)).toMatchObject({ good: 2, requests: 3, retries: 1 })
		// The loser fails at 41, waits 5, and needs another round.
		expect(result.totals.lastResponseAtMs).toBe(86)
	})

	it('lets exactly one of N concurrent writes succeed per round', () => {
		const result = writers({ kind: 'closed', users: 6, callsEach: 1 }, [
			{ retry: { maxRetries: 20, baseDelayMs: 0, growth: 'constant', jitterStrategy: 'none' } },
		])
		expect(serviceOf(result, 'row').requests).toBe(6 + 5 + 4 + 3 + 2 + 1)
		expect(result.totals.lastResponseAtMs).toBe(6 * 40)
		expect(result.totals.amplification).toBe(21 / 6)
	})

	it('has unlimited workers and no service time', () => {
		const row = serviceOf(writers(twoAt(0, 1), undefined, 0), 'row')
		expect(row).toMatchObject({ utilization: 0, capacityPerSecond: null, usefulMs: 0, wastedMs: 0 })
	})
})
