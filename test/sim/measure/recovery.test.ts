import { describe, expect, it } from 'vitest'
import {
	type Fault,
	type PolicyModel,
	type Scenario,
	Simulation,
	type SimulationResult,
	simulate,
} from 'yaoki/sim'
import { faultPeriods, RecoveryTracker } from '../../../src/sim/measure/recovery-tracker.ts'
import type { Recovery } from '../../../src/sim/measure/result.ts'
import { atOnce, clientOf, every, serviceOf, setup } from '../setup.ts'

const constant = (perSecond: number, toMs?: number) => ({ kind: 'constant', perSecond, toMs }) as const

/** Records a call that takes no time. */
function call(tracker: RecoveryTracker, at: number, ok: boolean): void {
	tracker.start(at)
	tracker.end(at, at, ok)
}

describe('recovery', () => {
	/** A fault from 5 s to 10 s catches one call; from then on one call starts every 100 ms and succeeds, or fails at first. */
	function recovery(caughtEndsAtMs: number | undefined, failingMs = 0, endedAtMs = 20_000) {
		const tracker = new RecoveryTracker([{ fromMs: 5_000, toMs: 10_000 }])
		const events = Array.from({ length: Math.max(0, (endedAtMs - 10_000) / 100) }, (_, index) => {
			const at = 10_050 + index * 100
			return { at, run: () => call(tracker, at, at >= 10_000 + failingMs) }
		})
		events.push({ at: 6_000, run: () => tracker.start(6_000) })
		if (caughtEndsAtMs !== undefined)
			events.push({ at: caughtEndsAtMs, run: () => tracker.end(6_000, caughtEndsAtMs, false) })
		for (const { run } of events.toSorted((a, b) => a.at - b.at)) run()
		return tracker.recoveries(endedAtMs, false, false)?.at(-1)
	}

	it('needs both: new calls are healthy, and caught calls have ended', () => {
		expect(recovery(11_000)).toEqual({
			status: 'recovered',
			faultEndedAtMs: 10_000,
			healthyAfterMs: 0,
			drainedAfterMs: 1_000,
			recoveredAfterMs: 1_000,
			heldForMs: 9_000,
			callsAfter: 100,
		})
		expect(recovery(11_000, 2_000)?.recoveredAfterMs).toBe(2_000)
	})

	it('does not come while a caught call has not ended', () => {
		expect(recovery(undefined)).toEqual({
			status: 'not-recovered',
			faultEndedAtMs: 10_000,
			healthyAfterMs: 0,
			drainedAfterMs: null,
			recoveredAfterMs: null,
			heldForMs: null,
			callsAfter: 100,
		})
	})

	it('is not shown in less than 5 s', () => {
		expect(recovery(11_000, 0, 14_000)).toMatchObject({ status: 'not-shown', recoveredAfterMs: null })
		expect(recovery(undefined, 0, 14_000)).toMatchObject({ status: 'not-shown', drainedAfterMs: null })
	})

	it('is immediate if caught calls ended before the fault did', () => {
		expect(recovery(7_000)).toMatchObject({ drainedAfterMs: 0, recoveredAfterMs: 0 })
	})

	it('is found in a bounded time, however long nothing happens afterwards', () => {
		const tracker = new RecoveryTracker([{ fromMs: 5_000, toMs: 10_000 }])
		for (let at = 10_050; at < 20_000; at += 100) call(tracker, at, true)
		expect(tracker.recoveries(1e15, false, false)?.[0]).toMatchObject({ recoveredAfterMs: 0 })
	})

	it('is unknown before the fault has ended', () => {
		expect(recovery(7_000, 0, 9_000)).toBe(undefined)
	})

	it('is not compared with calls before the baseline', () => {
		const tracker = new RecoveryTracker([{ fromMs: 10_000, toMs: 11_000 }], 5_000)
		for (let at = 0; at < 5_000; at += 100) call(tracker, at, false)
		for (let at = 5_000; at < 10_000; at += 100) call(tracker, at, true)
		for (let at = 11_050; at < 20_000; at += 100) call(tracker, at, at % 400 !== 50)
		expect(tracker.recoveries(20_000, false, false)?.[0]?.status).toBe('not-recovered')
	})
})

it('faults that overlap or touch are one period', () => {
	const periods = faultPeriods([
		{ fromMs: 30, toMs: 40 },
		{ fromMs: 5, toMs: 10 },
		{ fromMs: 8, toMs: 20 },
		{ fromMs: 20, toMs: 21 },
		{ fromMs: 6, toMs: 7 },
	])
	expect(periods).toEqual([
		{ fromMs: 5, toMs: 21 },
		{ fromMs: 30, toMs: 40 },
	])
	expect(faultPeriods([])).toEqual([])
})

const outage: Fault = { kind: 'outage', fromMs: 2_000, toMs: 4_000 }
const run = (api: object, web: object = {}, rest: object = { durationMs: 20_000 }): SimulationResult =>
	simulate(
		setup({
			api: { workers: 10, faults: [outage], ...api },
			web: { arrivals: constant(100), ...web },
			rest,
		}),
	)
const statuses = (result: SimulationResult) =>
	Object.values({ ...result.clients, ...result.services }).map(({ recovery }) => recovery?.status)

describe('in a run', () => {
	it('has no recovery without a fault', () => {
		const result = run({ faults: [] })
		expect([result.recovery, ...statuses(result)]).toEqual([null, undefined, undefined])
	})

	it('has no recovery if the fault is not over', () => {
		expect(run({}, {}, { durationMs: 3_999 }).recovery).toBe(null)
	})

	it('recovers immediately without retries and queue', () => {
		const recovered: Recovery = {
			status: 'recovered',
			faultEndedAtMs: 4_000,
			healthyAfterMs: 0,
			drainedAfterMs: 10,
			recoveredAfterMs: 10,
			heldForMs: 15_990,
			callsAfter: 1_599,
		}
		const result = run({})
		expect(result.recovery).toEqual({ ...recovered, faults: [recovered] })
		expect(clientOf(result, 'web').recovery).toEqual(recovered)
	})

	it('does not recover if a call hangs without a timeout', () => {
		const { recovery } = run({ faults: [{ ...outage, mode: 'hang' }] })
		expect(recovery).toMatchObject({
			status: 'not-recovered',
			healthyAfterMs: 0,
			drainedAfterMs: null,
			recoveredAfterMs: null,
		})
	})

	it('recovers with the last call, if clients call once', () => {
		const herd = simulate(
			setup({
				api: { faults: [{ ...outage, fromMs: 0, toMs: 500 }] },
				web: { arrivals: atOnce(50) },
				policy: [{ retry: { baseDelayMs: 400, growth: 'constant', jitterStrategy: 'none', maxRetries: 5 } }],
			}),
		)
		// All retry at 800 and are processed one after the other.
		expect(herd).toMatchObject({ endedBy: 'idle', endedAtMs: 1_300, recovery: { recoveredAfterMs: 800 } })
	})

	it('counts from the last fault of all services', () => {
		const result = simulate({
			durationMs: 20_000,
			services: {
				api: { serviceTimeMs: 1, faults: [outage] },
				other: { serviceTimeMs: 1, faults: [{ kind: 'slowdown', factor: 2, fromMs: 5_000, toMs: 7_500 }] },
			},
			clients: { web: { to: 'api', arrivals: constant(100) } },
		})
		expect(result.recovery?.faultEndedAtMs).toBe(7_500)
	})

	it('depends neither on the timeline steps nor on slices nor on the length of the run', () => {
		const slow: Fault = { kind: 'slowdown', factor: 30, fromMs: 5_000, toMs: 8_000 }
		const of = (rest: object) => run({ workers: 2, faults: [slow] }, { goodWithinMs: 500 }, rest).recovery
		const expected = of({ durationMs: 60_000 })
		expect(expected?.recoveredAfterMs).toBeGreaterThan(500)
		expect(of({ durationMs: 60_000, stepMs: 15_000 })).toEqual(expected)
		expect(of({ durationMs: 400_000 })?.recoveredAfterMs).toEqual(expected?.recoveredAfterMs)
		const sliced = new Simulation(
			setup({
				api: { workers: 2, faults: [slow] },
				web: { arrivals: constant(100), goodWithinMs: 500 },
				rest: { durationMs: 60_000 },
			}),
		)
		for (let time = 0; !sliced.advance(time); time += 777) sliced.result()
		expect(sliced.result().recovery).toEqual(expected)
	})

	it('finds a late recovery after steps were merged', () => {
		const outageThenBusy = simulate({
			durationMs: 500_000,
			services: {
				api: { serviceTimeMs: 100, queue: { limit: 5 }, faults: [{ ...outage, fromMs: 1_000, toMs: 2_000 }] },
			},
			clients: {
				calm: { to: 'api', arrivals: constant(5), goodWithinMs: 1_000 },
				// For six minutes, twice the capacity.
				rush: { to: 'api', arrivals: { ...constant(20, 350_000), fromMs: 2_000 }, goodWithinMs: 1_000 },
			},
		})
		// At 348 s, to within one merged step. The calls of the rush failed to the end.
		expect(clientOf(outageThenBusy, 'calm').recovery?.healthyAfterMs).toBeGreaterThan(347_000)
		expect(clientOf(outageThenBusy, 'calm').recovery?.healthyAfterMs).toBeLessThan(349_000)
		expect(clientOf(outageThenBusy, 'rush').recovery?.status).toBe('not-recovered')
	})
})

describe('a verdict is not wrong', () => {
	it('reports no recovery if a run relapses after a healthy period', () => {
		// Twice the capacity, 20 s after the fault.
		const relapse = (toMs?: number): SimulationResult => {
			const arrivals = { kind: 'poisson', perSecond: 2_000, fromMs: 24_000, toMs } as const
			const clients = { rush: { to: 'api', arrivals } }
			const web = { arrivals: { kind: 'poisson', perSecond: 100 } }
			return run({ queue: { limit: 5 } }, web, { durationMs: 36_000, clients })
		}
		const lasting = relapse()
		expect(clientOf(lasting, 'web').recovery).toMatchObject({
			status: 'not-recovered',
			recoveredAfterMs: null,
		})
		expect(lasting.recovery?.status).toBe('not-recovered')
		const short = clientOf(relapse(26_000), 'web').recovery?.recoveredAfterMs
		expect(short).toBeGreaterThan(21_500)
		expect(short).toBeLessThan(23_000)
	})

	it('reports no recovery for one client at 0 of 600 among many calls of another', () => {
		const hidden = simulate({
			durationMs: 64_000,
			services: {
				api: { workers: 100, serviceTimeMs: 10, faults: [outage] },
				legacy: {
					serviceTimeMs: 10,
					faults: [{ ...outage, fromMs: 3_000, toMs: 4_000 }],
					queue: { limit: 0 },
				},
			},
			clients: {
				web: { to: 'api', arrivals: constant(1_000) },
				// From 4 s on, its own policy rejects every call: the breaker opens during the fault and stays open.
				batch: { to: 'legacy', arrivals: constant(10), policy: 'batch' },
			},
			policies: { batch: [{ circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 1e6 } }] },
		})
		const { totals, recovery } = hidden
		expect(totals.goodShare).toBeGreaterThan(0.94)
		expect(clientOf(hidden, 'web').recovery?.status).toBe('recovered')
		expect(clientOf(hidden, 'batch')).toMatchObject({ recovery: { status: 'not-recovered' } })
		expect(clientOf(hidden, 'batch').goodShare).toBeLessThan(0.05)
		expect(recovery).toMatchObject({ status: 'not-recovered', recoveredAfterMs: null })
	})

	it('reports that nothing is shown if a run ends too soon', () => {
		expect(run({}, {}, { durationMs: 8_000 }).recovery).toMatchObject({
			status: 'not-shown',
			healthyAfterMs: null,
			recoveredAfterMs: null,
		})
		expect(run({}, { arrivals: constant(1) }, { durationMs: 12_000 }).recovery?.status).toBe('not-shown')
		expect(run({}, { arrivals: constant(1) }, { durationMs: 15_000 }).recovery?.status).toBe('recovered')
	})

	it('judges a client that made its last call before the end of the run', () => {
		expect(run({}, { arrivals: every(1_000, 6) }).recovery).toMatchObject({ status: 'recovered' })
		const failing = run(
			{ faults: [outage], queue: { limit: 0 }, workers: 1, serviceTimeMs: 5_000 },
			{ arrivals: every(1_000, 6) },
		)
		expect(failing.recovery?.status).not.toBe('recovered')
	})
})

describe('a service', () => {
	const chain = (rest: Partial<Scenario> = {}): SimulationResult =>
		simulate({
			durationMs: 40_000,
			services: {
				shop: { workers: 50, serviceTimeMs: 5, dependsOn: [{ to: 'db', policy: 'toDb' }] },
				db: {
					workers: 1,
					serviceTimeMs: 10,
					faults: [{ kind: 'slowdown', factor: 20, fromMs: 5_000, toMs: 9_000 }],
				},
				mail: { serviceTimeMs: 5 },
			},
			clients: {
				web: { to: 'shop', arrivals: constant(80) },
				sender: { to: 'mail', arrivals: constant(80) },
			},
			policies: { toDb: [{ timeoutMs: 300 }] },
			...rest,
		})

	it('recovers when the requests that reach it succeed again, and those that the fault caught are done', () => {
		const result = chain()
		const [shop, db, mail] = ['shop', 'db', 'mail'].map((name) => serviceOf(result, name).recovery)
		expect(mail).toMatchObject({ status: 'recovered', recoveredAfterMs: 0 })
		// It has a backlog of requests whose callers have stopped waiting.
		expect(db?.status).toBe('recovered')
		expect(db?.recoveredAfterMs).toBeGreaterThan(500)
		expect(shop?.status).toBe('recovered')
		expect(clientOf(result, 'sender').recovery?.recoveredAfterMs).toBe(5)
		const all = [...Object.values(result.clients), ...Object.values(result.services)]
		const times = all.map(({ recovery }) => recovery?.recoveredAfterMs ?? NaN)
		expect(result.recovery?.recoveredAfterMs).toBe(Math.max(...times))
	})

	it('has recovered while it still processes a request that was slow for a caller that has left', () => {
		const slow: Fault = { kind: 'slowdown', factor: 2_000, fromMs: 2_000, toMs: 4_000 }
		const result = simulate(
			setup({
				api: { workers: Infinity, faults: [slow] },
				web: { arrivals: constant(100) },
				policy: [{ timeoutMs: 100 }],
				rest: { durationMs: 12_000 },
			}),
		)
		expect(serviceOf(result, 'api').inFlight.mean).toBeGreaterThan(100)
		expect(result.recovery?.recoveredAfterMs).toBe(90)
	})

	it('shows nothing without requests, and the others decide', () => {
		const services = { api: { serviceTimeMs: 1, faults: [outage] }, unused: { serviceTimeMs: 1 } }
		const result = simulate({
			durationMs: 20_000,
			services,
			clients: { web: { to: 'api', arrivals: constant(100) } },
		})
		expect(statuses(result)).toEqual(['recovered', 'recovered', 'not-shown'])
		expect(result.recovery?.status).toBe('recovered')
	})
})

describe('without a call after the fault', () => {
	/** The last call starts during the outage from 2 s to 4 s. */
	const during = (policy: PolicyModel, to = 3_000) =>
		simulate(
			setup({
				api: { workers: 10, faults: [outage] },
				web: { arrivals: constant(100, to) },
				policy,
				rest: { durationMs: 20_000 },
			}),
		)

	it.each([
		['failed during it', during([])],
		['ended before it', during([], 1_000)],
	])('a recovery is not shown if all calls %s', (_name, { recovery }) => {
		expect(recovery).toMatchObject({ status: 'not-shown', recoveredAfterMs: null, callsAfter: 0 })
	})

	it('a recovery is not shown if the calls that it caught fail', () => {
		const { recovery } = during([{ retry: { maxRetries: 1, baseDelayMs: 100 } }, { timeoutMs: 50 }])
		expect(recovery).toMatchObject({ status: 'not-shown', callsAfter: 0 })
	})

	it('the calls that it caught show the recovery by succeeding', () => {
		const { recovery, clients } = during([{ retry: { maxRetries: 50, baseDelayMs: 500, maxDelayMs: 1_000 } }])
		expect(clients['web']?.recovery).toMatchObject({ status: 'recovered', callsAfter: 0 })
		expect(recovery?.status).toBe('recovered')
	})

	it('lets the other clients decide about one that made no call', () => {
		const result = simulate(
			setup({
				api: { workers: 10, faults: [outage] },
				web: { arrivals: constant(100) },
				rest: {
					durationMs: 20_000,
					clients: { once: { to: 'api', arrivals: { kind: 'trace', atMs: [2_500] } } },
				},
			}),
		)
		expect(statuses(result)).toEqual(['recovered', 'not-shown', 'recovered'])
		expect(result.recovery?.status).toBe('recovered')
	})
})

describe('several faults', () => {
	const second: Fault = { ...outage, fromMs: 20_000, toMs: 22_000 }

	it('each have a recovery, and the last is that of the run', () => {
		const { recovery } = run({ faults: [second, outage] }, {}, { durationMs: 40_000 })
		expect(recovery?.faults).toMatchObject([
			{ status: 'recovered', faultEndedAtMs: 4_000, recoveredAfterMs: 10, heldForMs: 15_990 },
			{ status: 'recovered', faultEndedAtMs: 22_000, recoveredAfterMs: 10, heldForMs: 17_990 },
		])
		expect(recovery).toMatchObject({ ...recovery?.faults[1] })
	})

	it('show no recovery from one that the next follows too soon', () => {
		const { recovery } = run({ faults: [outage, { ...second, fromMs: 7_000 }] }, {}, { durationMs: 40_000 })
		expect(recovery?.faults.map(({ status }) => status)).toEqual(['not-shown', 'recovered'])
	})

	it('are judged apart: the first is over before the second begins, or not', () => {
		const slow: Fault = { kind: 'slowdown', factor: 30, fromMs: 2_000, toMs: 4_000 }
		const { recovery } = run(
			{ workers: 1, serviceTimeMs: 9, faults: [slow, second] },
			{ goodWithinMs: 100 },
			{ durationMs: 60_000 },
		)
		// Calls are late until the outage empties the queue.
		expect(recovery?.faults.map(({ status }) => status)).toEqual(['not-recovered', 'recovered'])
	})

	it('have no recovery before the last has ended', () => {
		expect(run({ faults: [outage, second] }, {}, { durationMs: 21_000 }).recovery).toBe(null)
	})
})
