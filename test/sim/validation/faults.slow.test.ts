/**
 * Pauses that keep the backlog. Two intervals: with fresh seeds about one run in 500 would raise a false alarm.
 */
import { describe, expect, test } from 'vitest'
import { type Fault, type Scenario, Simulation, simulate } from 'yaoki/sim'
import { seededRandom } from 'yaoki/testing'
import { api, expectAgreement } from './agreement.ts'
import { drainMs, meanWithBreakdowns } from './closed-form.ts'

describe('after a pause, the backlog is gone after load x pause / (1 - load)', () => {
	test.each([0.5, 0.7, 0.9])('holds at a load of %f', (load) => {
		const [fromMs, pauseMs, serviceTime] = [10_000, 5_000, 2]
		const toMs = fromMs + pauseMs
		const { recovery } = simulate({
			durationMs: toMs + drainMs(pauseMs, load) + 20_000,
			services: { api: { serviceTimeMs: serviceTime, faults: [{ kind: 'pause', fromMs, toMs }] } },
			clients: {
				web: {
					to: 'api',
					arrivals: { kind: 'constant', perSecond: (1_000 / serviceTime) * load },
					// At a constant load no call waits, before the pause and after the backlog.
					goodWithinMs: 1.5 * serviceTime,
				},
			},
		})
		// Recovery is measured in steps of 100 ms.
		expect(Math.abs((recovery?.healthyAfterMs ?? 0) - drainMs(pauseMs, load))).toBeLessThanOrEqual(150)
	})
})

const [MEAN_MS, UP_MS, DOWN_MS, DURATION] = [10, 1_000, 200, 1_000_000]

/** Pauses with exponential times in between, and exponential lengths. */
function breakdowns(seed: number): readonly Fault[] {
	const random = seededRandom(`breakdowns ${seed}`)
	const draw = (meanMs: number) => -meanMs * Math.log(1 - random())
	const faults: Fault[] = []
	for (let at = draw(UP_MS); at < DURATION; ) {
		const toMs = at + draw(DOWN_MS)
		faults.push({ kind: 'pause', fromMs: at, toMs })
		at = toMs + draw(UP_MS)
	}
	return faults
}

describe('an M/M/1 queue with breakdowns has the number in the system of White and Christie', () => {
	test.each([0.02, 0.04])('holds at %f calls per ms', (perMs) => {
		const values = Array.from({ length: 24 }, (_, seed) => {
			const scenario: Scenario = {
				seed,
				durationMs: DURATION,
				services: {
					api: { serviceTimeMs: { kind: 'exponential', meanMs: MEAN_MS }, faults: breakdowns(seed) },
				},
				clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: perMs * 1_000 } } },
			}
			const simulation = new Simulation(scenario)
			simulation.advance()
			return api(simulation.result()).inFlight.mean
		})
		expectAgreement(values, meanWithBreakdowns(perMs, MEAN_MS, UP_MS, DOWN_MS), 0.08)
	})
})
