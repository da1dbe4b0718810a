import { describe, expect, test } from 'vitest'
import {
	type BlockingMessage,
	cappedCount,
	FORECAST_STEPS,
	limitPerDestination,
	MIN_LIMIT,
	NOTHING_BLOCKED,
	sumBlocked,
	sumForecast,
	TOTAL_FACTOR,
} from '../../../src/outbox/store/counting.ts'

test('a count that found more than the limit is capped', () => {
	expect(cappedCount(5, 5)).toEqual({ count: 5, isCapped: false })
	expect(cappedCount(6, 5)).toEqual({ count: 5, isCapped: true })
})

test('few destinations are counted up to the limit, many up to an equal share, and each a little', () => {
	expect(limitPerDestination(1_000, 0)).toBe(1_000)
	expect(limitPerDestination(1_000, TOTAL_FACTOR)).toBe(1_000)
	expect(limitPerDestination(1_000, 2 * TOTAL_FACTOR)).toBe(500)
	expect(limitPerDestination(1_000, 1_000_000)).toBe(MIN_LIMIT)
	expect(limitPerDestination(3, 1_000_000)).toBe(3)
})

describe('sumForecast', () => {
	test('adds the destinations step by step', () => {
		const sums = sumForecast([slot(0, 2), slot(1, 1), slot(1, 4)], 100)
		expect(sums).toHaveLength(FORECAST_STEPS)
		expect(sums.slice(0, 3).map(({ count }) => count)).toEqual([2, 5, 0])
		expect(sums.filter(({ isCapped }) => isCapped)).toEqual([])
	})

	test('marks the step at which counting stopped, and all later ones', () => {
		const sums = sumForecast([slot(0, 2), slot(10, 7, true), slot(11, 1)], 5)
		expect(sums.slice(9)).toEqual([
			{ count: 0, isCapped: false },
			{ count: 5, isCapped: true },
			{ count: 1, isCapped: true },
		])
	})

	const slot = (step: number, count: number, isCut = false) => ({ step, count, isCut })
})

describe('sumBlocked', () => {
	const NOW = 10_000
	const blocking = (key: string, behind: number, since = NOW): BlockingMessage => ({
		destination: 'a',
		key,
		id: `id of ${key}`,
		since,
		behind,
	})

	test('counts keys with waiting messages, and names the first one with most', () => {
		const found = [blocking('x', 1), blocking('y', 3, NOW - 500), blocking('z', 3), blocking('alone', 0)]
		expect(sumBlocked(found, 10, NOW, false)).toEqual({
			keys: { count: 3, isCapped: false },
			messages: { count: 7, isCapped: false },
			worst: { key: 'y', id: 'id of y', forMs: 500, messages: { count: 3, isCapped: false } },
		})
	})

	test('is capped if a key has more messages than the limit, or if there may be more keys', () => {
		expect(sumBlocked([blocking('x', 11)], 10, NOW, false)).toMatchObject({
			keys: { count: 1, isCapped: false },
			messages: { count: 10, isCapped: true },
		})
		expect(sumBlocked([], 10, NOW, true)).toMatchObject({ keys: { count: 0, isCapped: true }, worst: null })
	})

	test('finds nothing without waiting messages', () => {
		expect(sumBlocked([blocking('alone', 0)], 10, NOW, false)).toBe(NOTHING_BLOCKED)
	})

	test('has no negative time after a clock that was set back', () => {
		expect(sumBlocked([blocking('x', 1, NOW + 900)], 10, NOW, false).worst?.forMs).toBe(0)
	})
})
