import { describe, expect, it } from 'vitest'
import { type Fault, type Result, simulate } from 'yaoki/sim'
import { type Course, recoveryOf, type Step } from '../../../src/sim/measure/recovery.ts'
import { atOnce, scene } from '../scene.ts'

const good: Step = { begun: 100, good: 100, bad: 0 }
const bad: Step = { begun: 100, good: 0, bad: 100 }
const quiet: Step = { begun: 0, good: 0, bad: 0 }
/** Nobody has an answer yet. */
const open: Step = { begun: 100, good: 0, bad: 0 }
const times = (count: number, step: Step): Step[] => Array.from({ length: count }, () => step)

/** Steps of a second; a fault from 5 to 10 s; everybody who was caught was answered at 11 s. */
function recovery(steps: readonly Step[], course: Partial<Course> = {}) {
	return recoveryOf({
		stepMs: 1_000,
		steps,
		endedAtMs: steps.length * 1_000,
		faultFromMs: 5_000,
		faultToMs: 10_000,
		isIdle: false,
		clearedAtMs: 11_000,
		...course,
	})
}
const before = [...times(5, good), ...times(5, bad)]

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
		['when they are as good as 95 % of what they were', times(6, { begun: 100, good: 95, bad: 5 }), 0],
		['not below that', times(6, { begun: 100, good: 94, bad: 6 }), null],
		['when nobody calls any more', times(6, quiet), 0],
		['not while nobody has an answer', times(6, open), null],
	] as const)('%s', (_promise, after, expected) => {
		expect(recovery([...before, ...after])?.wellAfterMs).toBe(expected)
	})

	it('is held against what it was before, which need not have been perfect', () => {
		const shaky = { begun: 100, good: 60, bad: 40 }
		const steps = [...times(5, shaky), ...times(5, bad), ...times(6, { begun: 100, good: 58, bad: 42 })]
		expect(recovery(steps)?.wellAfterMs).toBe(0)
	})

	it('is held against all being well when nothing was before', () => {
		expect(recovery(times(16, { begun: 10, good: 9, bad: 1 }), { faultFromMs: 0 })?.wellAfterMs).toBe(null)
		expect(recovery(times(16, good), { faultFromMs: 0 })?.wellAfterMs).toBe(0)
	})

	it('need not hold for long when nothing is left to do', () => {
		const steps = [...before, bad, good]
		expect(recovery(steps)?.wellAfterMs).toBe(null)
		expect(recovery(steps, { isIdle: true })?.wellAfterMs).toBe(1_000)
		expect(recovery([...before, bad, bad], { isIdle: true })?.wellAfterMs).toBe(2_000)
	})

	it('is counted from the end of the fault, also when that lies within a step', () => {
		const course = { faultToMs: 9_400, clearedAtMs: 9_500 }
		expect(recovery([...before, ...times(6, good)], course)).toMatchObject({ wellAfterMs: 600 })
	})

	it('takes one step when steps are longer than that', () => {
		const course = {
			stepMs: 10_000,
			faultFromMs: 10_000,
			faultToMs: 20_000,
			clearedAtMs: 20_500,
			endedAtMs: 40_000,
		}
		expect(recovery([good, bad, bad, good], course)).toMatchObject({ wellAfterMs: 10_000 })
	})
})

describe('recovered', () => {
	it('is when both are true: the new are well, and those who were caught have their answer', () => {
		const steps = [...before, ...times(10, good)]
		expect(recovery(steps)).toEqual({
			faultEndedAtMs: 10_000,
			wellAfterMs: 0,
			clearedAfterMs: 1_000,
			recoveredAfterMs: 1_000,
		})
		expect(recovery([...before, bad, bad, ...times(6, good)])?.recoveredAfterMs).toBe(2_000)
	})

	it('is never while one straggler has no answer', () => {
		const waiting = recovery([...before, ...times(10, good)], { clearedAtMs: undefined })
		expect(waiting).toMatchObject({ wellAfterMs: 0, clearedAfterMs: null, recoveredAfterMs: null })
	})

	it('is at once for who was answered before the fault was over', () => {
		expect(recovery([...before, ...times(10, good)], { clearedAtMs: 7_000 })).toMatchObject({
			clearedAfterMs: 0,
			recoveredAfterMs: 0,
		})
	})

	it('is no question before the fault is over', () => {
		expect(recovery(before.slice(0, 8))).toBe(null)
	})
})

describe('in a run', () => {
	const outage: Fault = { kind: 'outage', fromMs: 2_000, toMs: 4_000 }
	const met = (api: object, web: object = {}, rest: object = { duration: 20_000 }): Result =>
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
		const { recovery } = met({ faults: [{ ...outage, how: 'hang' }] })
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
			expect([timeline.stepMs, timeline.clients['web']?.begun.length]).toEqual([duration / 240, 240])
			expect(clients['web']?.calls).toBe(duration / 10)
		},
	)
})
