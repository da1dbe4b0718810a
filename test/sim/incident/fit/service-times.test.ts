import { expect, test } from 'vitest'
import { RecordedAttempts } from '../../../../src/sim/incident/fit/recorded.ts'
import { countInFlight, serviceTimesWith } from '../../../../src/sim/incident/fit/service-times.ts'
import { sorted } from '../../../../src/sim/incident/log/numbers.ts'
import { type RecordedAttempt, setup, steadily } from '../setup.ts'

const pace = { medianMs: 20, meanMs: 20, slowMs: 40 }

function evidenceOf(list: readonly RecordedAttempt[]) {
	const bins = setup(list)
	const recorded = new RecordedAttempts(bins, pace)
	return {
		bins,
		recorded,
		isSlowBin: new Uint8Array(bins.length),
		serviceTimes: sorted(list.map(({ ms = 0 }) => ms)),
		inFlight: countInFlight(bins.attempts, recorded.index),
	}
}

/** Each attempt is followed by one that waits for it where there is a single worker. */
const pairs = [...steadily(0, 25_000, 100, { ms: 20 }), ...steadily(10, 25_010, 100, { ms: 30 })]

test('attempts in flight are those that started earlier and have not ended', () => {
	const { inFlight } = evidenceOf([
		{ at: 0, ms: 100 },
		{ at: 50, ms: 100 },
		{ at: 100, ms: 10 },
		{ at: 120, ms: 10 },
	])
	expect([...inFlight]).toEqual([0, 1, 1, 1])
})

test('a response that found no free worker shows no service time', () => {
	const evidence = evidenceOf(pairs)
	expect(new Set(serviceTimesWith(1, evidence).serviceTimes)).toEqual(new Set([20]))
	expect(new Set(serviceTimesWith(2, evidence).serviceTimes)).toEqual(new Set([20, 30]))
})

test('responses in slow periods show no service time', () => {
	const evidence = evidenceOf([...pairs, ...steadily(30_000, 35_000, 100, { ms: 900 })])
	evidence.isSlowBin.fill(1, 30)
	expect(serviceTimesWith(2, evidence).serviceTimes.at(-1)).toBe(30)
})

test('attempts without a known service time draw one, the same for every number of workers', () => {
	const evidence = evidenceOf([...pairs, ...steadily(30_000, 31_000, 100, { ms: 500, outcome: 'timedOut' })])
	const [two, three] = [2, 3].map((workers) => [...serviceTimesWith(workers, evidence).workMs.slice(-10)])
	expect(two).toEqual(three)
	expect(two?.filter((ms) => ms !== 20 && ms !== 30)).toEqual([])
})

test('with few responses, all of the normal periods are used', () => {
	const evidence = evidenceOf(pairs.slice(0, 100))
	expect(serviceTimesWith(0, evidence).serviceTimes).toBe(evidence.serviceTimes)
})
