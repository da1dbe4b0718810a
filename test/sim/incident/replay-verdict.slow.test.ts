import { describe, expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import {
	expectResilience,
	type PolicyLayer,
	ResilienceError,
	replayIncident,
	scenarioFromIncident,
	tune,
} from 'yaoki/sim'
import { simulateColdCache } from './cold-cache.ts'
import { type ProductionModel, produce, truthOf } from './production.ts'

const patient: readonly PolicyLayer[] = [{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeoutMs: 2_000 }]

describe('a log of a collapse', () => {
	const { lines } = simulateColdCache({ maxRetries: 3, delayMs: 100, timeoutMs: 500 })
	const incident = scenarioFromIncident(lines)
	const replay = replayIncident(incident, patient, { replications: 1 })

	test('does not decide what another policy would have done', () => {
		expect(replay).toMatchObject({ isDecided: false, scenarios: 1 + incident.alternatives.length })
		const [lowest, highest] = replay.goodShare
		expect(lowest).toBeLessThan(0.5)
		expect(highest).toBeGreaterThan(0.9)
		expect(replay.recovered).toBeGreaterThan(0)
		expect(replay.recovered).toBeLessThan(replay.scenarios)
		expect(replay.missing[0]).toMatch(
			/^The log does not show when the slowdown at 00:00:15 ended\. This would: /,
		)
	})

	test('satisfies an expectation only if every scenario does', () => {
		expectResilience(replay).goodShareAbove(0.2)
		expect(() => expectResilience(replay).goodShareAbove(0.9)).toThrow(ResilienceError)
		expect(() => expectResilience(replay).toRecoverWithin(Infinity)).toThrow(ResilienceError)
	})

	test('recommends no change that helps only in some of its scenarios', () => {
		const options = {
			constraints: { goodShare: { atLeast: 0.9 } },
			replications: 1,
			maxSteps: 5,
			maxChanges: 1,
		}
		const impatient = { replay: [{ timeoutMs: 10 }] }
		const scenarios = [incident.scenario, ...incident.alternatives].map((one) => ({
			...one,
			policies: impatient,
		}))
		const one = tune('replay', incident.scenario && { ...incident.scenario, policies: impatient }, options)
		expect(one.survives).toBe(true)
		const all = tune('replay', scenarios, options)
		expect(all).toMatchObject({ survives: false, scenarios: scenarios.length })
		expect(all.steps.length).toBeGreaterThan(0)
		expect(all.steps.filter(({ violation }) => violation === undefined)).toEqual([])
		expect(all.nearest?.violation.scenario).toBeGreaterThan(0)
	})
})

test('a log that includes the recovery decides, as the truth does', () => {
	const model: ProductionModel = {
		perSecond: 40,
		seconds: 60,
		faults: [{ kind: 'outage', mode: 'refuse', fromMs: 15_000, toMs: 20_000 }],
	}
	const { lines } = produce(model, () => pipeline(retry({ maxRetries: 1, baseDelayMs: 100 }), timeout(500)))
	const replay = replayIncident(scenarioFromIncident(lines), patient, { replications: 1 })
	expect(replay).toMatchObject({ isDecided: true, missing: [], recovered: replay.scenarios })
	const [lowest, highest] = replay.goodShare
	const { goodShare } = truthOf(model, patient).totals
	expect(lowest).toBeLessThan(goodShare + 0.05)
	expect(highest).toBeGreaterThan(goodShare - 0.05)
})
