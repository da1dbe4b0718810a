import { describe, expect, test } from 'vitest'
import {
	EventColumns,
	eachWithin,
	findTimeRange,
	hashCallId,
	PolicyEvents,
} from '../../../../src/sim/incident/log/event-columns.ts'

const HOUR = 3_600_000

function columnsAt(...times: readonly number[]): EventColumns {
	const columns = new EventColumns()
	for (const time of times) columns.add(time, 0, 1, 0, 0)
	return columns
}

describe('the time range', () => {
	test('covers all events without a gap of an hour, in any order', () => {
		const range = findTimeRange([columnsAt(2 * HOUR, 500), columnsAt(HOUR)])
		expect(range).toEqual({ from: 500, to: 2 * HOUR, outliers: 0 })
	})

	test('is that of the largest part, and counts the events of the others', () => {
		const range = findTimeRange([columnsAt(0, 5 * HOUR, 5 * HOUR + 1, 5 * HOUR + 2, 9 * HOUR, 9 * HOUR + 1)])
		expect(range).toEqual({ from: 5 * HOUR, to: 5 * HOUR + 2, outliers: 3 })
	})

	test('is that of the first of equal parts', () => {
		expect(findTimeRange([columnsAt(0, 1, 5 * HOUR, 5 * HOUR + 1)])).toEqual({ from: 0, to: 1, outliers: 2 })
	})
})

test('events outside of the range are left out, and those at its ends are not', () => {
	const seen: number[] = []
	eachWithin([columnsAt(9, 10, 15, 20, 21)], { from: 10, to: 20, outliers: 2 }, (time) => seen.push(time))
	expect(seen).toEqual([10, 15, 20])
})

describe('an event', () => {
	const success = {
		type: 'retry_success',
		emitter: 'retry',
		timestamp: 5,
		attempts: 1,
		durationMs: 2,
	} as const

	test('belongs to its call id, and without one to no other event', () => {
		const events = new PolicyEvents()
		events.add({ ...success, callId: 'a' }, 1)
		events.add({ ...success, callId: 'a' }, 2)
		events.add(success, 3)
		events.add(success, 4)
		const { call } = events.endings
		expect(call[0]).toBe(call[1])
		expect(call[0]).toBe(hashCallId('a'))
		expect(call.slice(2)).toEqual([-4, -5])
	})

	test('is no rejection if its breaker is in shadow mode', () => {
		const events = new PolicyEvents()
		const rejected = { type: 'rejected', emitter: 'b', timestamp: 5, reason: 'circuit-open' } as const
		events.add(rejected)
		events.add({ ...rejected, shadow: true })
		expect([events.rejected.length, events.shadowed.length]).toEqual([1, 1])
	})
})

test('a million call ids have different hashes, which are safe integers', () => {
	const hashes = new Set<number>()
	for (let index = 0; index < 1_000_000; index++) hashes.add(hashCallId(`call-${index}`))
	expect(hashes.size).toBe(1_000_000)
	for (const id of ['', 'a', 'ü'.repeat(100)]) {
		expect(Number.isSafeInteger(hashCallId(id))).toBe(true)
		expect(hashCallId(id)).toBeGreaterThanOrEqual(0)
	}
})
