import { describe, expect, it } from 'vitest'
import { type Fault, type SimulationResult, simulate } from 'yaoki/sim'
import {
	type HealthInput,
	healthyAfter,
	RecoveryTracker,
	type Started,
} from '../../../src/sim/measure/recovery-tracker.ts'
import { atOnce, scene } from '../scene.ts'

const good: Started = { started: 100, good: 100 }
const bad: Started = { started: 100, good: 0 }
const quiet: Started = { started: 0, good: 0 }
const times = (count: number, step: Started): Started[] => Array.from({ length: count }, () => step)

/** Steps of one second from the end of the fault. */
const healthy = (steps: readonly Started[], input: Partial<HealthInput> = {}) =>
	healthyAfter({ stepMs: 1_000, steps, before: good, isIdle: false, ...input })

describe('new calls are healthy', () => {
	it.each([
		['immediately if all succeed', times(10, good), 0],
		['from the first step in which they succeed', [...times(4, bad), ...times(6, good)], 4_000],
		['only after a relapse, if one follows within 5 s', [...times(4, good), bad, ...times(6, good)], 5_000],
		['after 5 s of success, even if a relapse follows', [...times(5, good), bad, bad], 0],
		['never, while they fail', times(20, bad), undefined],
		['not yet, if the run ends before 5 s of success', [...times(6, bad), ...times(4, good)], undefined],
		['at 95 % of the share before the fault', times(6, { started: 100, good: 95 }), 0],
		['not below 95 %', times(6, { started: 100, good: 94 }), undefined],
		['if no calls follow', times(6, quiet), 0],
	] as const)('%s', (_name, after, expected) => {
		expect(healthy(after)).toBe(expected)
	})

	it('compared with the share before the fault, which may be below 100 %', () => {
		const before = { started: 100, good: 60 }
		expect(healthy(times(6, { started: 100, good: 58 }), { before })).toBe(0)
	})

	it('compared with 100 % if there were no calls before the fault', () => {
		expect(healthy(times(6, { started: 10, good: 9 }), { before: quiet })).toBe(undefined)
		expect(healthy(times(6, good), { before: quiet })).toBe(0)
	})

	it('never, if no call succeeded before the fault', () => {
		expect(healthy(times(6, bad), { before: { started: 10, good: 0 } })).toBe(undefined)
	})

	it('without holding for 5 s, if nothing is left to do', () => {
		expect(healthy([bad, good])).toBe(undefined)
		expect(healthy([bad, good], { isIdle: true })).toBe(1_000)
		expect(healthy([bad, bad], { isIdle: true })).toBe(2_000)
	})
})

describe('recovery', () => {
	/** A fault from 5 s to 10 s catches one call; from then on one call starts every 100 ms and succeeds, or fails at first. */
	function recovery(caughtEndsAtMs: number | undefined, failingMs = 0, endedAtMs = 20_000) {
		const tracker = new RecoveryTracker(5_000, 10_000)
		tracker.start(6_000)
		if (caughtEndsAtMs !== undefined) tracker.end(6_000, caughtEndsAtMs, false)
		for (let at = 10_050; at < endedAtMs; at += 100) {
			tracker.start(at)
			tracker.end(at, at, at >= 10_000 + failingMs)
		}
		return tracker.recovery(endedAtMs, false)
	}

	it('needs both: new calls are healthy, and caught calls have ended', () => {
		expect(recovery(11_000)).toEqual({
			faultEndedAtMs: 10_000,
			healthyAfterMs: 0,
			drainedAfterMs: 1_000,
			recoveredAfterMs: 1_000,
		})
		expect(recovery(11_000, 2_000)?.recoveredAfterMs).toBe(2_000)
	})

	it('never comes while a caught call has not ended', () => {
		expect(recovery(undefined)).toMatchObject({
			healthyAfterMs: 0,
			drainedAfterMs: null,
			recoveredAfterMs: null,
		})
	})

	it('is immediate if caught calls ended before the fault did', () => {
		expect(recovery(7_000)).toMatchObject({ drainedAfterMs: 0, recoveredAfterMs: 0 })
	})

	it('is null before the fault has ended', () => {
		expect(recovery(7_000, 0, 9_000)).toBe(null)
	})
})

describe('in a run', () => {
	const outage: Fault = { kind: 'outage', fromMs: 2_000, toMs: 4_000 }
	const met = (api: object, web: object = {}, rest: object = { duration: 20_000 }): SimulationResult =>
		simulate(
			scene({
				api: { workers: 10, faults: [outage], ...api },
				web: { arrivals: { kind: 'constant', perSecond: 100 }, ...web },
				rest,
			}),
		)

	it('has no recovery without a fault', () => {
		expect(met({ faults: [] }).recovery).toBe(null)
	})

	it('has no recovery if the fault is not over', () => {
		expect(met({}, {}, { duration: 3_999 }).recovery).toBe(null)
	})

	it('recovers immediately without retries and queue', () => {
		expect(met({}).recovery).toEqual({
			faultEndedAtMs: 4_000,
			healthyAfterMs: 0,
			drainedAfterMs: 10,
			recoveredAfterMs: 10,
		})
	})

	it('never recovers if a call hangs without a timeout', () => {
		const { recovery } = met({ faults: [{ ...outage, mode: 'hang' }] })
		expect(recovery).toMatchObject({ healthyAfterMs: 0, drainedAfterMs: null, recoveredAfterMs: null })
	})

	it('recovers with the last call, if clients call once', () => {
		const herd = simulate(
			scene({
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
			duration: 20_000,
			services: {
				api: { serviceTime: 1, faults: [outage] },
				other: { serviceTime: 1, faults: [{ kind: 'slowdown', factor: 2, fromMs: 5_000, toMs: 7_500 }] },
			},
			clients: { web: { to: 'api', arrivals: { kind: 'constant', perSecond: 100 } } },
		})
		expect(result.recovery?.faultEndedAtMs).toBe(7_500)
	})

	it.each([24_000, 60_000, 120_000, 240_000])(
		'does not depend on the length of the run (%i ms)',
		(duration) => {
			const { recovery, timeline, clients } = met({}, {}, { duration, stepMs: duration / 240 })
			expect(recovery).toMatchObject({ drainedAfterMs: 10 })
			expect([timeline.stepMs, timeline.clients['web']?.started.length]).toEqual([duration / 240, 240])
			expect(clients['web']?.calls).toBe(duration / 10)
		},
	)

	it('depends neither on the timeline steps nor on the length of the run', () => {
		const slow: Fault = { kind: 'slowdown', factor: 30, fromMs: 5_000, toMs: 8_000 }
		const of = (rest: object) => met({ workers: 2, faults: [slow] }, { goodWithinMs: 500 }, rest).recovery
		const expected = of({ duration: 60_000 })
		expect(expected?.recoveredAfterMs).toBeGreaterThan(500)
		expect(of({ duration: 60_000, stepMs: 15_000 })).toEqual(expected)
		expect(of({ duration: 2_000_000 })).toEqual(expected)
	})

	it('finds a late recovery after steps were merged', () => {
		const outageThenBusy = simulate({
			duration: 1_000_000,
			services: {
				api: {
					workers: 1,
					serviceTime: 100,
					queue: { limit: 5 },
					faults: [{ kind: 'outage', fromMs: 1_000, toMs: 2_000 }],
				},
			},
			clients: {
				calm: { to: 'api', arrivals: { kind: 'constant', perSecond: 5 }, goodWithinMs: 1_000 },
				// For ten minutes, twice the capacity.
				rush: {
					to: 'api',
					arrivals: { kind: 'constant', perSecond: 20, fromMs: 2_000, toMs: 600_000 },
					goodWithinMs: 1_000,
				},
			},
		})
		// At 598 s, to within one merged step.
		expect(outageThenBusy.recovery?.healthyAfterMs).toBeGreaterThan(597_000)
		expect(outageThenBusy.recovery?.healthyAfterMs).toBeLessThan(599_000)
	})
})
