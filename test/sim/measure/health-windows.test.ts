import { describe, expect, it } from 'vitest'
import {
	type Health,
	type HealthInput,
	type Judgement,
	judgeHealth,
} from '../../../src/sim/measure/health-windows.ts'

/** Calls that started in one second: all, those that have ended, and the good ones. */
type Step = readonly [started: number, ended: number, good: number]
const good: Step = [100, 100, 100]
const bad: Step = [100, 100, 0]
const quiet: Step = [0, 0, 0]
const times = (count: number, ...steps: readonly Step[]): Step[] =>
	Array.from({ length: count }, () => steps).flat()

/** Judges steps of one second from the end of the fault. */
const judge = (steps: readonly Step[], input: Partial<HealthInput> = {}): Health =>
	judgeHealth({
		started: steps.map(([started]) => started),
		ended: steps.map(([, ended]) => ended),
		good: steps.map(([, , count]) => count),
		stepMs: 1_000,
		lengthMs: steps.length * 1_000,
		patienceMs: 1e9,
		before: { ended: 100, good: 100 },
		isOver: false,
		...input,
	}).health

describe('new calls are healthy', () => {
	it.each([
		['immediately if all succeed', times(10, good), 0],
		['from the first step in which they succeed', [...times(4, bad), ...times(6, good)], 4_000],
		['only after a relapse, however long it took', [...times(60, good), bad, ...times(6, good)], 61_000],
		['with a window that was shown at 5 s', times(5, good), 0],
		['at 95 % of the share before the fault', times(6, [100, 100, 95]), 0],
		['regardless of a step without calls', [quiet, ...times(8, good), quiet, ...times(3, good)], 0],
	] as const)('%s', (_name, steps, expected) => {
		expect(judge(steps)).toBe(expected)
	})

	it('compared with the share before the fault, which may be below 100 %', () => {
		const before = { ended: 1_000, good: 600 }
		expect(judge(times(10, [100, 100, 58]), { before })).toBe(0)
		expect(judge(times(10, [100, 100, 40]), { before })).toBe('failing')
	})

	it('compared with 100 % if no call succeeded before the fault, or there was none', () => {
		for (const before of [
			{ ended: 0, good: 0 },
			{ ended: 50, good: 0 },
		]) {
			expect(judge(times(6, [10, 10, 9]), { before })).toBe('failing')
			expect(judge(times(6, good), { before })).toBe(0)
			expect(judge(times(6, bad), { before })).toBe('failing')
		}
	})

	it('are healthy after a shorter time, if no more will follow', () => {
		expect(judge([bad, good], { isOver: true })).toBe(1_000)
		expect(judge([bad, bad], { isOver: true })).toBe('failing')
		expect(judge([[3, 3, 3]], { isOver: true })).toBe(0)
	})
})

describe('nothing is shown', () => {
	it.each([
		['in less than 5 s', times(4, good)],
		['in less than 5 s since calls succeed', [...times(6, bad), ...times(4, good)]],
		['in less than 10 calls', times(9, [1, 1, 1])],
		['in less than 5 s of failures', times(4, bad)],
		['without calls', times(60, quiet)],
	] as const)('%s', (_name, steps) => {
		expect(judge(steps)).toBe('too-short')
	})

	it('is shown by no calls, also if none will follow', () => {
		expect(judge(times(6, quiet), { isOver: true })).toBe('too-short')
		expect(judge([], { isOver: true })).toBe('too-short')
	})

	it('is shown by the last calls of a client that mostly failed', () => {
		expect(judge([...times(6, bad), [1, 1, 1]], { isOver: true })).toBe('failing')
	})
})

describe('calls still fail', () => {
	it.each([
		['if all do', times(6, bad)],
		['if they fail again after a minute of success', [...times(60, good), ...times(3, bad)]],
		['if six in a hundred do, for a long time', times(60, [100, 100, 94])],
		['of a client with one call a second', times(12, [1, 1, 0])],
		['of a client with one call in ten seconds', times(12, [1, 1, 0], ...times(9, quiet))],
	] as const)('%s', (_name, steps) => {
		expect(judge(steps)).toBe('failing')
	})
})

describe('a client with one call a second', () => {
	const one: Step = [1, 1, 1]
	const failed: Step = [1, 1, 0]

	it('may fail once', () => {
		expect(judge([...times(20, one), failed, ...times(20, one)])).toBe(0)
	})

	it('relapses with two failures in ten calls, until one is left', () => {
		expect(judge([...times(20, one), failed, one, failed, ...times(20, one)])).toBe(21_000)
	})

	it('is not healthy with one failure in nine calls, for a long time', () => {
		expect(judge(times(20, ...times(8, one), failed))).not.toBe(0)
	})
})

it('random failures as before the fault are no relapse, whatever the rate', () => {
	// A generator of its own, so that the test is the same on every run.
	let state = 1
	const random = () => {
		state = (state * 48_271) % 2_147_483_647
		return state / 2_147_483_647
	}
	for (const share of [0.6, 0.9, 0.99])
		for (const rate of [1, 10, 100]) {
			const healthy = Array.from({ length: 40 }, () => {
				const steps = Array.from({ length: 120 }, (): Step => {
					const count = Array.from({ length: rate }, random).filter((one) => one < share).length
					return [rate, rate, count]
				})
				return judge(steps, { before: { ended: 10_000, good: 10_000 * share } })
			}).filter((health) => typeof health === 'number')
			expect(healthy.length, `${share} of ${rate} a second`).toBeGreaterThanOrEqual(38)
		}
})

describe('calls in flight', () => {
	it('count as failed once they took longer than any good call', () => {
		const hanging = times(10, [100, 0, 0] as const)
		expect(judge(hanging, { patienceMs: 100 })).toBe('failing')
		expect(judge(hanging, { patienceMs: 60_000 })).toBe('too-short')
	})

	it('are left out until then', () => {
		expect(judge([...times(10, good), [100, 0, 0]])).toBe(0)
		expect(judge([...times(10, good), [100, 20, 20]])).toBe(0)
	})

	it('show nothing if only good calls have ended, because failures take longer', () => {
		const steps = [...times(10, bad), ...times(8, [100, 50, 50] as const)]
		expect(judge(steps)).toBe('failing')
		expect(judge(times(8, [100, 50, 50]))).toBe('too-short')
	})

	it('do not matter where the window is good even if all of them fail', () => {
		expect(judge([...times(4, good), [100, 99, 99]])).toBe(0)
	})
})

describe('steps that were merged', () => {
	const earlier: Judgement = { health: 700, startMs: 700, isStarted: true, judgedMs: 5_000 }
	const steps = [[100, 100, 30] as const, ...times(9, good)]

	it('keep the recovery that was found before', () => {
		expect(judge(steps)).toBe(1_000)
		expect(judge(steps, { earlier })).toBe(700)
	})

	it('are not judged again in windows that were', () => {
		const [once, later] = [times(5, [100, 100, 90] as const), times(60, good)]
		expect(judge([...once, ...later], { earlier })).toBe(700)
		expect(judge([...later, ...once, ...later], { earlier })).toBe(65_000)
	})

	it('lose it if a relapse follows', () => {
		expect(judge([...times(9, good), bad, ...times(9, good)], { earlier })).toBe(10_000)
	})

	it('start with the first good call if there was none before', () => {
		const failing = { ...earlier, health: 'failing', startMs: 5_000, isStarted: false } as const
		expect(judge([...times(6, bad), ...times(9, good)], { earlier: failing })).toBe(6_000)
	})
})
