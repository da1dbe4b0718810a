import { expect, test } from 'vitest'
import { KIND, RecordedAttempts } from '../../../../src/sim/incident/fit/recorded.ts'
import { type RecordedAttempt, setup } from '../setup.ts'

const pace = { medianMs: 20, meanMs: 22, slowMs: 40 }
const record = (list: readonly RecordedAttempt[]) => new RecordedAttempts(setup(list), pace)

test('attempts are in the order in which the service got them', () => {
	const recorded = record([
		{ at: 900, ms: 5 },
		{ at: 100, ms: 5 },
		{ at: 500, ms: 5 },
	])
	expect([...recorded.startMs]).toEqual([100, 500, 900])
	expect([...recorded.index]).toEqual([1, 2, 0])
})

test('a response belongs to the first class of latency that is not exceeded', () => {
	const recorded = record([20, 21, 40, 120, 121].map((ms, index) => ({ at: index, ms })))
	expect(recorded.limits).toEqual([20, 40, 120])
	expect([...recorded.kind]).toEqual([0, 1, 1, 2, KIND.slowest])
})

test('failures and timeouts are kinds of their own, however long they took', () => {
	const recorded = record([
		{ at: 0, ms: 1, outcome: 'failed' },
		{ at: 1, ms: 500, outcome: 'timedOut' },
	])
	expect([...recorded.kind]).toEqual([KIND.failed, KIND.timedOut])
})

test('a caller would have waited for the usual timeout, and for its own duration if that is longer', () => {
	const recorded = record([
		{ at: 0, ms: 500, outcome: 'timedOut' },
		{ at: 1, ms: 30 },
		{ at: 2, ms: 800 },
		{ at: 3, ms: 400, outcome: 'timedOut' },
		{ at: 4, ms: 500, outcome: 'timedOut' },
	])
	expect([...recorded.timeoutMs]).toEqual([500, 500, 800, 400, 500])
})

test('without a timeout in the log, a caller would have waited for ever', () => {
	expect([...record([{ at: 0, ms: 30 }]).timeoutMs]).toEqual([Infinity])
})

test('the position of a time is that of the first attempt that did not start earlier', () => {
	const recorded = record([100, 200, 200, 300].map((at) => ({ at, ms: 1 })))
	expect([0, 100, 101, 200, 300, 301].map((ms) => recorded.positionAt(ms))).toEqual([0, 0, 1, 1, 3, 4])
})
