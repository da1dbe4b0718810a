import { describe, expect, it } from 'vitest'
import { type Fault, type SimulationResult, simulate } from 'yaoki/sim'
import { type Begun, type Course, recoveryOf } from '../../../src/sim/measure/recovery.ts'
import { atOnce, scene } from '../scene.ts'

const good: Begun = { begun: 100, good: 100 }
const bad: Begun = { begun: 100, good: 0 }
const quiet: Begun = { begun: 0, good: 0 }
const times = (count: number, step: Begun): Begun[] => Array.from({ length: count }, () => step)

/** Steps of a second from the end of a fault at 10 s; everybody who was caught was answered at 11 s. */
function recovery(steps: readonly Begun[], course: Partial<Course> = {}) {
	return recoveryOf({
		stepMs: 1_000,
		steps,
		before: good,
		endedAtMs: 10_000 + steps.length * 1_000,
		faultToMs: 10_000,
		isIdle: false,
		clearedAtMs: 11_000,
		...course,
	})
}

describe('calls that begin are well again', () => {
	it.each([
		['at once', times(10, good), 0],
		['from the second on in which they are', [...times(4, bad), ...times(6, good)], 4_000],
		['only when they stay so: a relapse begins it anew', [...times(4, good), bad, ...times(6, good)], 5_000],
		['after five seconds of it, even if there is a relapse later', [...times(5, good), bad, bad], 0],
		['never, while they go ill', times(20, bad), null],
		[
			'not yet known, when the run ends before five seconds of it',
			[...times(6, bad), ...times(4, good)],
			null,
		],
		['when they are as good as 95 % of what they were', times(6, { begun: 100, good: 95 }), 0],
		['not below that', times(6, { begun: 100, good: 94 }), null],
		['when nobody calls any more', times(6, quiet), 0],
	] as const)('%s', (_promise, after, expected) => {
		expect(recovery(after)?.healthyAfterMs).toBe(expected)
	})

	it('is held against what it was before, which need not have been perfect', () => {
		const shaky = { begun: 100, good: 60 }
		expect(recovery(times(6, { begun: 100, good: 58 }), { before: shaky })?.healthyAfterMs).toBe(0)
	})

	it('is held against all being well when nothing was before', () => {
		const before = { begun: 0, good: 0 }
		expect(recovery(times(6, { begun: 10, good: 9 }), { before })?.healthyAfterMs).toBe(null)
		expect(recovery(times(6, good), { before })?.healthyAfterMs).toBe(0)
	})

	it('is never for a service that was dead before: 95 % of nothing is no recovery', () => {
		expect(recovery(times(6, bad), { before: { begun: 10, good: 0 } })?.healthyAfterMs).toBe(null)
	})

	it('need not hold for long when nothing is left to do', () => {
		expect(recovery([bad, good])?.healthyAfterMs).toBe(null)
		expect(recovery([bad, good], { isIdle: true })?.healthyAfterMs).toBe(1_000)
		expect(recovery([bad, bad], { isIdle: true })?.healthyAfterMs).toBe(2_000)
	})
})

describe('recovered', () => {
	it('is when both are true: the new are well, and those who were caught have their answer', () => {
		expect(recovery(times(10, good))).toEqual({
			faultEndedAtMs: 10_000,
			wellAfterMs: 0,
			clearedAfterMs: 1_000,
			recoveredAfterMs: 1_000,
		})
		expect(recovery([bad, bad, ...times(6, good)])?.recoveredAfterMs).toBe(2_000)
	})

	it('is never while one straggler has no answer', () => {
		const waiting = recovery(times(10, good), { clearedAtMs: undefined })
		expect(waiting).toMatchObject({ wellAfterMs: 0, clearedAfterMs: null, recoveredAfterMs: null })
	})

	it('is at once for who was answered before the fault was over', () => {
		expect(recovery(times(10, good), { clearedAtMs: 7_000 })).toMatchObject({
			clearedAfterMs: 0,
			recoveredAfterMs: 0,
		})
	})

	it('is no question before the fault is over', () => {
		expect(recovery([], { endedAtMs: 9_000 })).toBe(null)
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

	it('without a fault there is nothing to recover from', () => {
		expect(met({ faults: [] }).recovery).toBe(null)
	})

	it('with a fault that is not over at its end there is no answer', () => {
		expect(met({}, {}, { duration: 3_999 }).recovery).toBe(null)
	})

	it('that has no retries and no queue is well at once', () => {
		expect(met({}).recovery).toEqual({
			faultEndedAtMs: 4_000,
			wellAfterMs: 0,
			clearedAfterMs: 10,
			recoveredAfterMs: 10,
		})
	})

	it('a call that hung in the outage and has no timeout is never answered', () => {
		const { recovery } = met({ faults: [{ ...outage, mode: 'hang' }] })
		expect(recovery).toMatchObject({ wellAfterMs: 0, clearedAfterMs: null, recoveredAfterMs: null })
	})

	it('of clients that call once, the last straggler tells', () => {
		const herd = simulate(
			scene({
				api: { faults: [{ ...outage, fromMs: 0, toMs: 500 }] },
				web: { arrivals: atOnce(50) },
				policy: [{ retry: { baseDelayMs: 400, growth: 'constant', jitterStrategy: 'none', maxRetries: 5 } }],
			}),
		)
		// All come again at 800, and are served one after the other.
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
		'does not depend on how long it is looked at, also when that fills all steps (%i ms)',
		(duration) => {
			const { recovery, timeline, clients } = met({}, {}, { duration, stepMs: duration / 240 })
			expect(recovery).toMatchObject({ clearedAfterMs: 10 })
			expect([timeline.stepMs, timeline.clients['web']?.started.length]).toEqual([duration / 240, 240])
			expect(clients['web']?.calls).toBe(duration / 10)
		},
	)

	it('depends neither on the steps of the timeline nor on how long it is looked at', () => {
		const slow: Fault = { kind: 'slowdown', factor: 30, fromMs: 5_000, toMs: 8_000 }
		const of = (rest: object) => met({ workers: 2, faults: [slow] }, { goodWithinMs: 500 }, rest).recovery
		const expected = of({ duration: 60_000 })
		expect(expected?.recoveredAfterMs).toBeGreaterThan(500)
		expect(of({ duration: 60_000, stepMs: 15_000 })).toEqual(expected)
		expect(of({ duration: 2_000_000 })).toEqual(expected)
	})

	it('that is late is still found, when the first steps were full before it came', () => {
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
				// Beside it, for ten minutes, twice what it can do.
				rush: {
					to: 'api',
					arrivals: { kind: 'constant', perSecond: 20, fromMs: 2_000, toMs: 600_000 },
					goodWithinMs: 1_000,
				},
			},
		})
		// From 598 s on, to within one of the steps that have been joined since.
		expect(outageThenBusy.recovery?.healthyAfterMs).toBeGreaterThan(597_000)
		expect(outageThenBusy.recovery?.healthyAfterMs).toBeLessThan(599_000)
	})
})
