/** The scenario built from the events of a known simulation matches that simulation, whatever policy emitted the events. */

import { describe, expect, test } from 'vitest'
import { bulkhead, circuitBreaker, fallback, type Policy, pipeline, retry, timeout } from 'yaoki'
import type { Fault } from 'yaoki/sim'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { arrivalsOf, produce, readArrivals, readService } from './production.ts'

const breaker = () => circuitBreaker({ failureThreshold: 5, resetTimeoutMs: 2_000 })
const attempts = () => retry({ maxRetries: 3, baseDelayMs: 200 })

/** Each with the tolerance for the edges of a fault, which are not visible while a circuit is open. */
const POLICIES: Readonly<Record<string, readonly [make: () => Policy<unknown>, offMs: number]>> = {
	'a retry': [() => pipeline(attempts(), timeout(1_000)), 200],
	'a breaker': [() => pipeline(breaker(), timeout(1_000)), 2_200],
	'a breaker around a retry': [() => pipeline(breaker(), attempts(), timeout(1_000)), 2_200],
	'a retry around a breaker': [() => pipeline(attempts(), breaker(), timeout(1_000)), 2_200],
	'a bulkhead around a retry': [
		() => pipeline(bulkhead({ maxConcurrent: 30, maxQueue: 30 }), attempts(), timeout(1_000)),
		400,
	],
	'a retry around a bulkhead': [
		() => pipeline(attempts(), bulkhead({ maxConcurrent: 30, maxQueue: 30 }), timeout(1_000)),
		400,
	],
	'a fallback around all': [() => pipeline(fallback('stale'), attempts(), timeout(1_000)), 200],
	'a timeout around all': [() => pipeline(timeout(5_000), attempts(), timeout(1_000)), 200],
}

const times = { fromMs: 40_300, toMs: 60_700 }
const FAULTS: Readonly<Record<string, Fault>> = {
	'an outage that refuses': { kind: 'outage', mode: 'refuse', ...times },
	'an outage that hangs': { kind: 'outage', mode: 'hang', ...times },
	'errors at a rate': { kind: 'errors', rate: 0.3, status: 503, ...times },
	'nothing but errors': { kind: 'errors', rate: 1, status: 503, ...times },
	'a slowdown': { kind: 'slowdown', factor: 8, ...times },
}

const cases = Object.entries(POLICIES).flatMap(([policy, [make, offMs]]) =>
	Object.entries(FAULTS).map(([name, fault]) => ({ policy, make, offMs, name, fault })),
)

describe.each(cases)('$name, from the events of $policy', ({ make, offMs, fault, policy }) => {
	// Operations that ignore their signal never release the 30 slots of the bulkhead, so the end of the outage is not visible.
	const isStuck = policy.includes('bulkhead') && fault.kind === 'outage' && fault.mode === 'hang'
	const model = { faults: [fault], ignoresSignal: isStuck }
	const { lines, truth } = produce(model, make)
	const { scenario, summary } = scenarioFromIncident(lines)

	test('has every finished call once', () => {
		const unfinished = truth.clients['web']?.unfinished ?? 0
		expect(readArrivals(scenario)).toHaveLength(arrivalsOf(model).length - unfinished)
	})

	// A call that waits in a queue outside of the retry seems to start later.
	if (policy !== 'a bulkhead around a retry' && !isStuck)
		test('has the start of every call', () => {
			const real = arrivalsOf(model)
			for (const [index, at] of readArrivals(scenario).entries())
				expect(Math.abs(at - (real[index] ?? 0))).toBeLessThan(0.01)
		})

	test('counts the results of the calls', () => {
		const { good, failed, rejected } = truth.clients['web'] ?? { good: 0, failed: 0, rejected: 0 }
		if (policy === 'a fallback around all') expect(summary.calls.total).toBe(good)
		else expect(summary.calls).toMatchObject({ good, failed: failed - rejected, rejected })
	})

	test('finds the fault and no other', () => {
		const { kind } = fault
		expect(readService(scenario).faults).toHaveLength(1)
		const [found] = readService(scenario).faults ?? []
		if (fault.kind === 'outage') expect(found).toMatchObject({ kind, mode: fault.mode })
		// A few half-open probes cannot tell an outage from errors without a service time.
		else if (fault.kind === 'errors' && fault.rate === 1) expect(['errors', 'outage']).toContain(found?.kind)
		else expect(found).toMatchObject({ kind })
		if (found?.kind === 'errors' && fault.kind === 'errors') {
			expect(Math.abs(found.rate - fault.rate)).toBeLessThan(0.1)
			expect(found.status).toBe(503)
		}
		if (found?.kind === 'slowdown' && fault.kind === 'slowdown')
			expect(Math.abs(found.factor / fault.factor - 1)).toBeLessThan(0.25)
	})

	if (!isStuck)
		test('finds the times of the fault', () => {
			const [found] = readService(scenario).faults ?? []
			expect(Math.abs((found?.fromMs ?? 0) - times.fromMs)).toBeLessThan(offMs)
			expect(Math.abs((found?.toMs ?? 0) - times.toMs)).toBeLessThan(offMs)
			const [{ startsBetweenMs, endsBetweenMs } = { startsBetweenMs: [], endsBetweenMs: [] }] = summary.faults
			expect(startsBetweenMs[0]).toBeLessThan(times.fromMs + 100)
			expect(startsBetweenMs[1]).toBeGreaterThan(times.fromMs - 100)
			expect(endsBetweenMs[0]).toBeLessThan(times.toMs + 100)
			expect(endsBetweenMs[1]).toBeGreaterThan(times.toMs - 100)
		})

	test('has the normal service times', () => {
		const { p50Ms, p99Ms } = summary.serviceTime
		expect(Math.abs(p50Ms / 20 - 1)).toBeLessThan(0.1)
		expect(Math.abs(p99Ms / 120 - 1)).toBeLessThan(0.2)
	})
})
