import { describe, expect, test } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { OUTCOME } from '../../../../src/sim/incident/log/attempt-outcome.ts'
import { AttemptBins, Attempts } from '../../../../src/sim/incident/log/attempts.ts'
import { ORIGIN, setup } from '../setup.ts'

describe('attempts', () => {
	test('have a duration only if their start is known', () => {
		const { attempts } = setup([{ at: 100, ms: 30 }, { at: 200 }])
		expect([attempts.isTimed(0), attempts.durationMs(0)]).toEqual([true, 30])
		expect([attempts.isTimed(1), attempts.durationMs(1)]).toEqual([false, 0])
	})

	test('leave out requests that were not sent, and unknown outcomes', () => {
		const { attempts } = setup([
			{ at: 0, ms: 1, outcome: 'rejected' },
			{ at: 0, ms: 1, outcome: 'unknown' },
			{ at: 0, ms: 1, outcome: 'timedOut' },
		])
		expect(attempts.length).toBe(1)
		expect(attempts.count(OUTCOME.timedOut)).toBe(1)
	})

	test('have a status only if they failed', () => {
		const { attempts } = setup([
			{ at: 0, ms: 1, outcome: 'failed', status: 503 },
			{ at: 0, ms: 1, outcome: 'responded', status: 404 },
		])
		expect([...attempts.status]).toEqual([503, 0])
	})

	test('show the state of the service at their start, and failures at their end', () => {
		const { attempts } = setup([
			{ at: 100, ms: 30 },
			{ at: 100, ms: 30, outcome: 'failed' },
			{ at: 100, ms: 30, outcome: 'timedOut' },
		])
		const observed = [0, 1, 2].map((index) => attempts.observedAt(index) - ORIGIN)
		expect(observed).toEqual([100, 130, 100])
	})

	test('are in the order of their starts, whatever the order of lines', () => {
		const list = [
			{ at: 300, ms: 5 },
			{ at: 100, ms: 9 },
			{ at: 100, ms: 5 },
		]
		const startsOf = ({ attempts }: AttemptBins) =>
			Array.from(attempts.byStart(), (index) => [
				(attempts.startedAt[index] ?? 0) - ORIGIN,
				attempts.durationMs(index),
			])
		const expected = [
			[100, 5],
			[100, 9],
			[300, 5],
		]
		expect(startsOf(setup(list))).toEqual(expected)
		expect(startsOf(setup(list.toReversed()))).toEqual(expected)
	})
})

describe('bins', () => {
	const bins = setup([
		{ at: 2_500, ms: 10 },
		{ at: 100, ms: 10 },
		{ at: 900, ms: 200, outcome: 'failed' },
	])

	test('return the attempts that were observed in a period', () => {
		expect([0, 1, 2].map((bin) => [...bins.in(bin, bin + 1)])).toEqual([[1], [2], [0]])
		expect([...bins.in(0, 3)]).toEqual([1, 2, 0])
	})

	test('begin at a multiple of their width', () => {
		const empty = new AttemptBins(new Attempts(0), ORIGIN + 1_234, ORIGIN + 3_000, 1_000)
		expect([empty.origin, empty.length]).toEqual([ORIGIN + 1_000, 3])
	})

	test('count attempts and symptoms without those that do not count', () => {
		const { attempts, symptoms } = bins.countSymptoms((index) => (index === 1 ? undefined : index === 2))
		expect([...attempts]).toEqual([0, 1, 1])
		expect([...symptoms]).toEqual([0, 1, 0])
	})

	test('reject a width that is too small for the length of the events', () => {
		const create = () => new AttemptBins(new Attempts(0), 0, 36_000_000, 1)
		expect(create).toThrow(InvalidOptionError)
		expect(create).toThrow(expect.objectContaining({ optionPath: 'resolutionMs', received: 1 }))
		expect(() => new AttemptBins(new Attempts(0), 0, 36_000_000, 8)).not.toThrow()
	})
})
