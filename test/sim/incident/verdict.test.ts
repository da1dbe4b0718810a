import { describe, expect, test } from 'vitest'
import { expectResilience, ResilienceError, type SimulationResult, simulate } from 'yaoki/sim'
import { formatVerdict, judgeReplay, listMissing } from '../../../src/sim/incident/verdict.ts'
import type { RecoveryStatus } from '../../../src/sim/measure/result.ts'
import { setup } from '../setup.ts'

const base = simulate(setup())

function scenario(goodShare: number, status: RecoveryStatus | null, hasFault = true) {
	const recovery = status && {
		status,
		faultEndedAtMs: 0,
		healthyAfterMs: null,
		drainedAfterMs: 0,
		recoveredAfterMs: null,
		heldForMs: null,
		callsAfter: 1,
		faults: [],
	}
	const run: SimulationResult = { ...base, recovery, totals: { ...base.totals, goodShare } }
	return { runs: [run], hasFault }
}

describe('a replay is decided', () => {
	test.each([
		['if its scenarios agree', [scenario(0.9, 'recovered'), scenario(0.95, 'recovered')], true],
		['if none recovers, shown or not', [scenario(0.3, 'not-recovered'), scenario(0.35, 'not-shown')], true],
		['not if one does not recover', [scenario(0.9, 'recovered'), scenario(0.9, 'not-recovered')], false],
		['not if one does not show it', [scenario(0.9, 'recovered'), scenario(0.9, 'not-shown')], false],
		['not if a fault lasts to the end', [scenario(0.9, 'recovered'), scenario(0.9, null)], false],
		['if a scenario has no fault', [scenario(0.9, 'recovered'), scenario(0.9, null, false)], true],
		[
			'is not decided if the scenarios differ by over ten points',
			[scenario(0.8, 'recovered'), scenario(0.91, 'recovered')],
			false,
		],
	] as const)('%s', (_name, scenarios, expected) => {
		expect(judgeReplay(scenarios, []).isDecided).toBe(expected)
	})
})

test('a verdict has its range, and what is missing has the measurement', () => {
	const verdict = judgeReplay([scenario(0.31, 'not-recovered'), scenario(0.98, 'recovered')], [])
	expect(formatVerdict(verdict)).toBe(
		'cannot be decided from this log: 31 to 98 % good, recovers in 1 of 2 scenarios',
	)
	const missing = { what: 'when it ended', shownBy: 'a longer log' }
	expect(
		listMissing([
			{ code: 'hidden-end', text: 'a', missing },
			{ code: 'timeouts', text: 'b' },
		]),
	).toEqual(['The log does not show when it ended. This would: a longer log.'])
})

test('a replay of a log that is not reproduced has no number, and fails every expectation', () => {
	const { runs } = scenario(0.99, 'recovered')
	const verdict = judgeReplay([{ runs, hasFault: true }], [{ code: 'not-reproduced', text: 'a' }])
	expect(verdict).toEqual({
		goodShare: [0, 1],
		scenarios: 1,
		recovered: 0,
		isReproduced: false,
		isDecided: false,
	})
	expect(formatVerdict(verdict)).toBe(
		'cannot be decided from this log: the scenario does not reproduce the log',
	)
	expectResilience({ runs }).goodShareAbove(0.9)
	expect(() => expectResilience({ runs, ...verdict }).goodShareAbove(0.9)).toThrow(
		'goodShare: expected > 0.9, cannot be decided, because the scenario does not reproduce the log',
	)
	expect(() => expectResilience({ runs, ...verdict }).amplificationBelow(1_000)).toThrow(ResilienceError)
})
