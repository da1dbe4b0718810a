/** A replay with another policy matches a simulation of the original service with that policy. */

import { describe, expect, test } from 'vitest'
import { circuitBreaker, type Policy, pipeline, retry, timeout } from 'yaoki'
import { type Fault, type PolicyLayer, type SimulationResult, simulate } from 'yaoki/sim'
import type { Incident } from '../../../src/sim/incident/incident.ts'
import { scenarioFromIncident } from '../../../src/sim/incident/reader.ts'
import { type ProductionModel, produce, readService, STORM, truthOf } from './production.ts'

const naive = () => pipeline(retry({ maxRetries: 3, baseDelayMs: 100 }), timeout(500))

const CAREFUL: Readonly<Record<string, readonly PolicyLayer[]>> = {
	nothing: [],
	'a timeout': [{ timeoutMs: 500 }],
	'patient retries': [{ retry: { maxRetries: 6, baseDelayMs: 500 } }, { timeoutMs: 500 }],
	'a budget': [{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1 } } }, { timeoutMs: 500 }],
	'a breaker': [{ circuitBreaker: { failureThreshold: 10, resetTimeoutMs: 2_000 } }, { timeoutMs: 500 }],
}

interface Figures {
	readonly good: number
	readonly requests: number
}

function figures({ clients, services }: SimulationResult): Figures {
	const [[client], [service]] = [Object.values(clients), Object.values(services)]
	return { good: client?.good ?? Number.NaN, requests: service?.requests ?? Number.NaN }
}

/** Returns the figures of the replay and of the original. */
function replayed(
	{ scenario }: Incident,
	model: ProductionModel,
	replay: readonly PolicyLayer[],
): { read: Figures; truth: Figures } {
	return {
		read: figures(simulate({ ...scenario, policies: { replay } })),
		truth: figures(truthOf(model, replay)),
	}
}

/** Expects that two figures differ by at most a share. */
const expectNear = (read: number, truth: number, share: number) =>
	expect(Math.abs(read - truth), `${read} is about ${truth}`).toBeLessThanOrEqual(share * truth)

describe('an incident recorded with retries, replayed with another policy', () => {
	const times = { fromMs: 30_500, toMs: 50_250 }
	const faults: readonly (readonly [string, Fault])[] = [
		['refused', { kind: 'outage', mode: 'refuse', ...times }],
		['hung', { kind: 'outage', mode: 'hang', ...times }],
		['failed in part', { kind: 'errors', rate: 0.4, status: 503, ...times }],
		['was slow', { kind: 'slowdown', factor: 12, ...times }],
	]
	describe.each(faults)('in which the service %s', (_, fault) => {
		const model: ProductionModel = { faults: [fault], seconds: 80 }
		const incident = scenarioFromIncident(produce(model, naive).lines)

		test.each(Object.entries(CAREFUL))('%s', (_name, layers) => {
			const { read, truth } = replayed(incident, model, layers)
			expectNear(read.good, truth.good, 0.02)
			expectNear(read.requests, truth.requests, 0.03)
		})
	})

	test('does not depend on the recorded policy', () => {
		const model: ProductionModel = { faults: [{ kind: 'outage', mode: 'refuse', ...times }], seconds: 80 }
		const makers: readonly (() => Policy)[] = [
			naive,
			() => pipeline(retry({ maxRetries: 10, baseDelayMs: 20 }), timeout(500)),
			() => pipeline(circuitBreaker({ failureThreshold: 20, resetTimeoutMs: 500 }), timeout(500)),
		]
		const patient = CAREFUL['patient retries'] ?? []
		const { good } = figures(truthOf(model, patient))
		for (const make of makers) {
			const incident = scenarioFromIncident(produce(model, make).lines)
			expectNear(replayed(incident, model, patient).read.good, good, 0.02)
		}
	})
})

describe('a retry storm that outlasts its outage', () => {
	const { lines, truth } = produce(STORM, naive)
	const incident = scenarioFromIncident(lines, { workers: 10 })

	test('lasts to the end', () => {
		expect(truth.totals.goodShare).toBeLessThan(0.4)
	})

	test('is detected separately from the outage if the workers are unknown: they are estimated', () => {
		const { scenario, summary } = scenarioFromIncident(lines)
		const [found] = readService(scenario).faults ?? []
		expect(Math.abs((found?.toMs ?? 0) - 25_000)).toBeLessThan(200)
		const [min, max] = summary.workers.between
		expect(min).toBeLessThanOrEqual(10)
		expect(max).toBeGreaterThanOrEqual(10)
		expect(summary.caveats.map(({ code }) => code)).toContain('estimated-workers')
	})

	test('is detected separately from the outage if the workers are known', () => {
		const { scenario, summary } = incident
		const faults = readService(scenario).faults ?? []
		expect(faults).toHaveLength(1)
		expect(faults[0]).toMatchObject({ kind: 'outage', mode: 'hang' })
		expect(Math.abs((faults[0]?.fromMs ?? 0) - 15_000)).toBeLessThan(200)
		expect(Math.abs((faults[0]?.toMs ?? 0) - 25_000)).toBeLessThan(200)
		expect(summary.attempts.explainedByLoad).toBeGreaterThan(30_000)
	})

	test.each(['a timeout', 'a budget', 'a breaker'])('does not happen with %s', (name) => {
		const layers = CAREFUL[name] ?? []
		const { read, truth: other } = replayed(incident, STORM, layers)
		expect(other.good).toBeGreaterThan(2 * figures(truth).good)
		expectNear(read.good, other.good, 0.03)
		expectNear(read.requests, other.requests, 0.05)
	})

	test('happens with the same policy', () => {
		const same: readonly PolicyLayer[] = [{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeoutMs: 500 }]
		const { read, truth: other } = replayed(incident, STORM, same)
		expectNear(read.good, other.good, 0.03)
		expectNear(read.requests, other.requests, 0.03)
	})
})
