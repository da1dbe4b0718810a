import { expect, test } from 'vitest'
import type { SimulationResult } from '../../../src/sim/measure/result.ts'
import { pause } from '../../../src/sim/scenarios/pause.ts'
import { drainMs } from '../validation/closed-form.ts'
import { type Column, goodBetween, percent, Studied, seconds, times } from './studied.ts'

const study = new Studied(pause)
const [PAUSE_MS, RESUMED_MS, LAST_MS] = [10_000, 20_000, 140_000]

/** Nine calls in ten of the next five seconds are good, for the first time after the pause. Infinity if they never are. */
function goodAgainAfter({ timeline }: SimulationResult): number {
	const { stepMs, clients } = timeline
	const { startedGood = [], startedBad = [] } = clients['web'] ?? {}
	const window = 5_000 / stepMs
	for (let step = RESUMED_MS / stepMs; step + window <= LAST_MS / stepMs; step++) {
		const sum = (counts: readonly number[]) =>
			counts.slice(step, step + window).reduce((total, count) => total + count, 0)
		if (sum(startedGood) >= 9 * sum(startedBad)) return step * stepMs - RESUMED_MS
	}
	return Infinity
}

const orNever = (ms: number): string => (ms === Infinity ? 'never' : seconds(ms))
const afterwards = goodBetween('web', RESUMED_MS, LAST_MS)

const COLUMNS: readonly Column[] = [
	['good again after', goodAgainAfter, orNever],
	['good in the two minutes after', afterwards, percent],
	['requests per call', 'amplification', times],
	['wasted work', 'wastedShare', percent],
]

test('the table on the page shows the results of the runs', () => {
	study.expectTable('docs/scenarios/pause.md', 'variant', COLUMNS)
})

test.each([0.5, 0.7, 0.8])(
	'without retries the backlog takes load x pause / (1 - load), at a load of %f',
	(load) => {
		const found = study.mean(`${load * 100} % busy: no retries`, goodAgainAfter)
		// A call is good again when its wait is below its timeout, a little before the backlog is gone.
		expect(found).toBeLessThan(drainMs(PAUSE_MS, load) + 2_000)
		expect(found).toBeGreaterThan(drainMs(PAUSE_MS, load) - 10_000)
	},
)

test('with retries the service does not recover in any run, even at half of its capacity', () => {
	for (const name of ['50 % busy: 3 retries', '80 % busy: 3 retries'])
		expect(Math.min(...study.values(name, goodAgainAfter))).toBe(Infinity)
})

test('with a budget the backlog ends, later than without retries', () => {
	const [none, budget] = ['80 % busy: no retries', '80 % busy: 3 retries, budget'].map((name) =>
		study.mean(name, goodAgainAfter),
	)
	expect(budget).toBeGreaterThan(none ?? Infinity)
})

test('dropping expired requests is not enough: nearly every run stays overloaded', () => {
	const after = study.values('80 % busy: 3 retries, expired dropped', goodAgainAfter)
	expect(after.filter((ms) => ms === Infinity).length).toBeGreaterThanOrEqual(8)
})

test.each(['at most 1 s old', 'queue of 20'])(
	'with a bound on the queue, %s, calls are good again within two seconds in every run',
	(bound) => {
		expect(Math.max(...study.values(`80 % busy: 3 retries, ${bound}`, goodAgainAfter))).toBeLessThanOrEqual(
			2_000,
		)
	},
)
