import { describe, expect, it } from 'vitest'
import { type PolicyLayer, type Scenario, Simulation } from 'yaoki/sim'
import { atOnce, setup } from '../setup.ts'

/** Returns the bytes on the heap that a finished run holds. */
function heldAfter(scenario: Scenario): number {
	const before = heapUsed()
	const simulation = new Simulation(scenario)
	simulation.advance()
	const held = heapUsed() - before
	// Read after the measurement, so that it is still alive.
	expect(simulation.result().endedBy).toBe('duration')
	return held
}

function heapUsed(): number {
	globalThis.gc?.()
	globalThis.gc?.()
	return process.memoryUsage().heapUsed
}

const everything: readonly PolicyLayer[] = [
	{ bulkhead: { maxConcurrent: 50, maxQueue: 20 } },
	{ circuitBreaker: { errorRateThreshold: 0.5, resetTimeoutMs: 500 } },
	{ retry: { baseDelayMs: 20, budget: { maxRetryRatio: 0.2 } } },
	{ hedge: { delayMs: 40 } },
	{ timeoutMs: 100 },
]

const faulty = (durationMs: number): Scenario =>
	setup({
		api: {
			workers: 20,
			serviceTimeMs: { kind: 'exponential', meanMs: 20 },
			queue: { limit: 100 },
			latencyMs: 1,
			faults: [
				{ kind: 'outage', mode: 'hang', fromMs: 500, toMs: 1_000 },
				{ kind: 'errors', rate: 0.2, fromMs: 1_500, toMs: 2_000 },
			],
			dependsOn: [{ to: 'db', policy: 'web', share: 0.5, passContext: true }],
		},
		web: { arrivals: { kind: 'poisson', perSecond: 300 }, deadlineMs: 300 },
		policy: everything,
		rest: { durationMs, services: { db: { serviceTimeMs: 5, workers: 10 } } },
	})

describe('memory', () => {
	it.skipIf(!globalThis.gc)('does not grow with the time that is simulated', () => {
		// The first runs also warm up the engine, which takes memory.
		for (let times = 0; times < 3; times++) heldAfter(faulty(5_000))
		heldAfter(faulty(50_000))
		const [short, long] = [heldAfter(faulty(5_000)), heldAfter(faulty(50_000))]
		// 13,500 more calls. A hundred bytes per call would exceed this.
		expect(long - short).toBeLessThan(1_000_000)
	})

	it.skipIf(!globalThis.gc)('is not held by hanging requests of finished calls', () => {
		const hanging = (durationMs: number) =>
			setup({
				api: { faults: [{ kind: 'outage', mode: 'hang', fromMs: 0, toMs: 1e9 }] },
				web: { arrivals: { kind: 'constant', perSecond: 500 } },
				policy: [{ timeoutMs: 50 }],
				rest: { durationMs },
			})
		heldAfter(hanging(50_000))
		expect(heldAfter(hanging(50_000)) - heldAfter(hanging(5_000))).toBeLessThan(1_000_000)
	})

	it('is the same for the timeline of a second and of a thousand years', () => {
		const { timeline } = longRun()
		expect(timeline.clients['web']?.started.length).toBeLessThanOrEqual(240)
		expect(timeline.stepMs * 240).toBeGreaterThanOrEqual(3.2e13)
	})
})

/** A thousand years with few events. */
function longRun() {
	const simulation = new Simulation(
		setup({
			web: { arrivals: { kind: 'closed', users: 1, thinkMs: 1e10 } },
			rest: { durationMs: 3.2e13, clients: { once: { to: 'api', arrivals: atOnce(3) } } },
		}),
	)
	simulation.advance()
	return simulation.result()
}
