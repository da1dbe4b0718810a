/** What is a fault and what is normal, and which calls are counted. */

import { describe, expect, test } from 'vitest'
import { circuitBreaker, keyed, pipeline, rateLimiter, retry, timeout } from 'yaoki'
import { scenarioFromIncident } from '../../../../src/sim/incident/reader.ts'
import { type ProductionModel, produce, readArrivals, readService } from '../production.ts'

const attempts = () => pipeline(retry({ maxRetries: 2, baseDelayMs: 100 }), timeout(500))
const faultsOf = (lines: readonly string[], options = {}) =>
	readService(scenarioFromIncident(lines, options).scenario).faults ?? []

/** Lines of a breaker with one call every 20 ms. */
const written = (seconds: number, callAt: (ms: number) => object): string[] =>
	Array.from({ length: seconds * 50 }, (_, index) => {
		const ms = index * 20
		const call = { durationMs: 15 + (index % 10), ...callAt(ms) }
		const timestamp = 1e12 + ms + call.durationMs
		return JSON.stringify({ type: 'success', emitter: 'b', callId: String(index), timestamp, ...call })
	})
const every = (ms: number, each: number) => ms % each === 0
const within = (ms: number, from: number, to: number) => ms >= from * 1_000 && ms < to * 1_000

describe('failures all the time', () => {
	test('are not a fault, and their share is reported', () => {
		const { scenario, summary } = scenarioFromIncident(
			written(120, (ms) => (every(ms, 500) ? { type: 'failure' } : {})),
		)
		expect(readService(scenario).faults).toEqual([])
		expect(summary.backgroundErrorRate).toBeCloseTo(0.04, 3)
		expect(summary.caveats).toEqual([
			{
				code: 'background-errors',
				text: 'Outside of faults 4 % of the attempts failed; the replay leaves them out.',
			},
		])
	})

	test('do not hide a fault', () => {
		const faults = faultsOf(
			written(120, (ms) => (every(ms, within(ms, 50, 70) ? 40 : 500) ? { type: 'failure' } : {})),
		)
		expect(faults).toHaveLength(1)
		expect(faults[0]).toMatchObject({ kind: 'errors' })
		expect(faults[0]).toMatchObject({ rate: expect.closeTo(0.5, 1) })
	})

	test('are a fault from 10 % on', () => {
		const [fault] = faultsOf(written(60, (ms) => (every(ms, 100) ? { type: 'failure' } : {})))
		expect(fault).toEqual({ kind: 'errors', rate: 0.2, fromMs: 0, toMs: 61_000 })
	})
})

test('timeouts of some attempts, while the others are normal, are an outage for a share of the requests', () => {
	const hung = { type: 'failure', errorType: 'TimeoutError', durationMs: 500 }
	const faults = faultsOf(written(120, (ms) => (within(ms, 50, 70) && every(ms, 200) ? hung : {})))
	expect(faults).toHaveLength(1)
	expect(faults[0]).toMatchObject({ kind: 'outage', mode: 'hang', share: expect.closeTo(0.1, 1) })
	expect(Math.abs((faults[0]?.fromMs ?? 0) - 50_000)).toBeLessThan(1_000)
})

test('several faults are detected separately', () => {
	const model: ProductionModel = {
		seconds: 120,
		faults: [
			{ kind: 'outage', mode: 'hang', fromMs: 20_000, toMs: 30_000 },
			{ kind: 'slowdown', factor: 6, fromMs: 60_000, toMs: 80_000 },
			{ kind: 'outage', mode: 'refuse', fromMs: 90_000, toMs: 95_000 },
		],
	}
	const faults = faultsOf(produce(model, attempts).lines)
	expect(faults.map(({ kind }) => kind)).toEqual(['outage', 'slowdown', 'outage'])
	for (const [index, { fromMs, toMs }] of faults.entries()) {
		expect(Math.abs(fromMs - (model.faults?.[index]?.fromMs ?? 0))).toBeLessThan(300)
		expect(Math.abs(toMs - (model.faults?.[index]?.toMs ?? 0))).toBeLessThan(300)
	}
})

test('an outage is found with one call per second', () => {
	const model: ProductionModel = {
		seconds: 300,
		perSecond: 1,
		faults: [{ kind: 'outage', fromMs: 120_000, toMs: 150_000 }],
	}
	const faults = faultsOf(produce(model, attempts).lines)
	expect(faults).toHaveLength(1)
	expect(faults[0]).toMatchObject({ kind: 'outage', mode: 'refuse' })
	expect(Math.abs((faults[0]?.fromMs ?? 0) - 120_000)).toBeLessThan(3_000)
	expect(Math.abs((faults[0]?.toMs ?? 0) - 150_000)).toBeLessThan(3_000)
})

describe('a known capacity', () => {
	test('does not hide a slowdown that the load does not explain', () => {
		const model: ProductionModel = {
			service: { workers: 10 },
			faults: [{ kind: 'slowdown', factor: 4, fromMs: 40_000, toMs: 60_000 }],
		}
		const faults = faultsOf(produce(model, attempts).lines, { workers: 10 })
		expect(faults).toHaveLength(1)
		expect(faults[0]).toMatchObject({ kind: 'slowdown' })
		expect(Math.abs((faults[0]?.toMs ?? 0) - 60_000)).toBeLessThan(500)
	})

	test('is in the scenario; the default is no limit', () => {
		const { lines } = produce({ seconds: 10 }, attempts)
		expect(readService(scenarioFromIncident(lines, { workers: 3 }).scenario).workers).toBe(3)
		expect(readService(scenarioFromIncident(lines).scenario).workers).toBe(Infinity)
	})
})

describe('every call is counted once', () => {
	const model: ProductionModel = { seconds: 40, faults: [{ kind: 'outage', fromMs: 15_000, toMs: 25_000 }] }
	const limiter = () => rateLimiter({ limit: 30, intervalMs: 1_000 })

	test.each([
		['a rate limiter around the retry', () => pipeline(limiter(), retry({ maxRetries: 2 }))],
		['a rate limiter inside the retry', () => pipeline(retry({ maxRetries: 2 }), limiter())],
		['a breaker in shadow mode', () => circuitBreaker({ failureThreshold: 5, shadow: true })],
		[
			'a breaker in shadow mode inside a retry',
			() => pipeline(retry({ maxRetries: 2 }), circuitBreaker({ failureThreshold: 5, shadow: true })),
		],
		[
			'one breaker per key',
			() => {
				let calls = 0
				return keyed(
					() => String(calls++ % 3),
					() => circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 1_000 }),
				)
			},
		],
	])('with %s', (_, make) => {
		const { lines, truth } = produce(model, make)
		const { scenario, summary } = scenarioFromIncident(lines)
		const all = truth.clients['web']?.calls ?? 0
		expect(readArrivals(scenario)).toHaveLength(all)
		const { good, failed, rejected, unknown } = summary.calls
		expect(good + failed + rejected + unknown).toBe(all)
		expect(rejected).toBe(truth.clients['web']?.rejected)
	})
})

test('many durations are reduced to quantiles', () => {
	const { serviceTimeMs: serviceTime } = readService(scenarioFromIncident(written(120, () => ({}))).scenario)
	if (typeof serviceTime === 'number' || serviceTime.kind !== 'empirical')
		throw new Error('the distribution is not empirical')
	expect(serviceTime.valuesMs).toHaveLength(2_000)
	expect([serviceTime.valuesMs[0], serviceTime.valuesMs.at(-1)]).toEqual([15, 24])
})
