import { expect, test } from 'vitest'
import { ClaimLimit } from '../../../src/outbox/relay/claim-lanes.ts'
import type { ClaimTarget } from '../../../src/outbox/store/rows.ts'

const target = (destination: string, limit: number, keys?: readonly string[]): ClaimTarget => ({
	destination,
	limit,
	since: 0,
	isOrdered: keys !== undefined,
	isProbe: false,
	...(keys && { keys }),
})

const limits = (targets: readonly ClaimTarget[]) => targets.map(({ limit }) => limit)

test('leaves targets unchanged until a claim times out', () => {
	const limit = new ClaimLimit()
	const targets = [target('a', 2_000)]
	expect(limit.max).toBe(Infinity)
	expect(limit.divide(targets)).toEqual({ now: targets, later: [] })
})

test('halves the claim after each timeout, down to one message', () => {
	const limit = new ClaimLimit()
	const targets = [target('a', 9)]
	const sizes = Array.from({ length: 5 }, () => {
		const { now } = limit.divide(targets)
		limit.recordTimeout(now)
		return limits(now)
	})
	expect(sizes).toEqual([[9], [4], [2], [1], [1]])
})

test('doubles the claim after each success until nothing is reduced', () => {
	const limit = new ClaimLimit()
	const targets = [target('a', 9)]
	limit.recordTimeout([target('a', 2)])
	const sizes = Array.from({ length: 6 }, () => {
		const { now } = limit.divide(targets)
		limit.recordSuccess(targets)
		return limits(now)
	})
	expect(sizes).toEqual([[1], [2], [4], [8], [9], [9]])
	expect(limit.max).toBe(Infinity)
})

test('keeps what it leaves out, with its keys', () => {
	const limit = new ClaimLimit()
	limit.recordTimeout([target('a', 4)])
	const { now, later } = limit.divide([target('a', 4, ['k1', 'k2', 'k3', 'k4'])])
	expect(now).toEqual([target('a', 2, ['k1', 'k2'])])
	expect(later).toEqual([target('a', 2, ['k3', 'k4'])])
})

test('divides a reduced claim among its targets in proportion', () => {
	const limit = new ClaimLimit()
	limit.recordTimeout([target('a', 100)])
	const { now, later } = limit.divide([target('a', 60), target('b', 40)])
	expect(limits(now)).toEqual([30, 20])
	expect(limits(later)).toEqual([30, 20])
})

test('starts with another target each time, so that each gets its turn', () => {
	const limit = new ClaimLimit()
	limit.recordTimeout([target('a', 2)])
	const names = [1, 2, 3].map(() => {
		const { now } = limit.divide([target('a', 1), target('b', 1), target('c', 1)])
		return now.map(({ destination }) => destination)
	})
	expect(names).toEqual([['a'], ['b'], ['c']])
})
