import { describe, expect, test } from 'vitest'
import { attemptsIn, findFaultWindows } from '../../../../src/sim/incident/detect/fault-windows.ts'
import { OUTCOME } from '../../../../src/sim/incident/log/attempt-outcome.ts'
import { type RecordedAttempt, setup, steadily } from '../setup.ts'

const LEVELS = [0.005, 0.25, 0.6, 0.998]
const OK = { ms: 5 }
const FAILED = { ms: 5, outcome: 'failed' } as const

function find(list: readonly RecordedAttempt[]) {
	const bins = setup(list)
	const hasFailed = (index: number) => bins.attempts.outcome[index] === OUTCOME.failed
	return { bins, ...findFaultWindows(bins, hasFailed, LEVELS) }
}

describe('a window', () => {
	test('has edges between the last normal attempt and the first with the symptom', () => {
		const { windows, bins } = find([
			...steadily(0, 10_300, 100, OK),
			...steadily(10_300, 20_700, 100, FAILED),
			...steadily(20_700, 30_000, 100, OK),
		])
		expect(windows).toHaveLength(1)
		const [window] = windows
		// A failure is observed when it ends.
		expect(window?.starts.atMs).toBeGreaterThan(10_200)
		expect(window?.starts.atMs).toBeLessThanOrEqual(10_305)
		expect(window?.ends.atMs).toBeGreaterThan(20_605)
		expect(window?.ends.atMs).toBeLessThanOrEqual(20_700)
		expect(window).toMatchObject({ attempts: 104, symptoms: 104, share: 1, isOngoing: false })
		expect(window && attemptsIn(window, bins)).toHaveLength(104)
	})

	test('may begin or end at any time in a gap without attempts', () => {
		const { windows } = find([
			...steadily(0, 10_000, 100, OK),
			...steadily(10_000, 12_000, 100, FAILED),
			...steadily(18_000, 30_000, 100, OK),
		])
		const [window] = windows
		expect(windows).toHaveLength(1)
		expect(window?.ends.minMs).toBeCloseTo(11_905, 0)
		expect(window?.ends.maxMs).toBeCloseTo(18_000, 0)
		expect(window?.ends.atMs).toBeCloseTo((11_905 + 18_000) / 2, 0)
	})

	test('lasts to the end of the events if nothing normal follows', () => {
		const { windows, bins } = find([
			...steadily(0, 10_000, 100, OK),
			...steadily(10_000, 15_000, 100, FAILED),
		])
		expect(windows).toMatchObject([{ isOngoing: true, ends: { atMs: bins.length * bins.widthMs } }])
	})

	test('has the share of a partial fault', () => {
		const { windows } = find([
			...steadily(0, 10_000, 50, OK),
			...steadily(10_000, 20_000, 100, FAILED),
			...steadily(10_050, 20_050, 100, OK),
			...steadily(20_050, 30_000, 50, OK),
		])
		expect(windows).toHaveLength(1)
		expect(windows[0]?.share).toBeCloseTo(0.5, 1)
	})
})

test('there is no window without the symptom, and attempts that do not count are left out', () => {
	const bins = setup(steadily(0, 10_000, 100, OK))
	expect(findFaultWindows(bins, () => false, LEVELS).windows).toEqual([])
	const { counts, windows } = findFaultWindows(bins, () => undefined, LEVELS)
	expect(windows).toEqual([])
	expect([...counts.attempts]).toEqual(new Array(bins.length).fill(0))
})
