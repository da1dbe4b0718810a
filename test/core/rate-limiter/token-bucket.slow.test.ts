import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TokenBucket } from '../../../src/core/rate-limiter/token-bucket.ts'
import { HISTORIES, LENGTH } from '../structures/command.ts'
import {
	type Check,
	clocks,
	createModel,
	exact,
	type ModelReservation,
	type PacerModel,
	settings,
	steps,
	take,
} from './reservations.ts'

const HOUR = 3_600_000

describe('TokenBucket', () => {
	it('starts its burst immediately and then at an even rate', () => {
		const bucket = new TokenBucket(10, 1_000, 3)
		expect([0, 0, 0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 0, 0, 100, 200])
	})
	it('is full again when all taken tokens have been refilled', () => {
		const bucket = new TokenBucket(10, 1_000, 3)
		for (let i = 0; i < 3; i++) bucket.reserve(0)
		expect([0, 99, 100, 250, 300, HOUR].map((now) => bucket.available(now))).toEqual([0, 0, 1, 2, 3, 3])
	})
	it('does not drift at a rate of three per second over a million calls', () => {
		const bucket = new TokenBucket(3, 1_000, 1)
		let start = 0
		for (let i = 0; i <= 1_000_000; i++) start = bucket.reserve(start)
		expect(start).toBeGreaterThanOrEqual(1_000_000_000 / 3)
		expect(start).toBeLessThan(1_000_000_000 / 3 + 0.01)
	})
	it('keeps 1,000,000 per second, which is finer than a tick', () => {
		const bucket = new TokenBucket(1_000_000, 1_000, 1)
		let start = 0
		for (let i = 0; i <= 500_000; i++) start = bucket.reserve(0)
		expect(start).toBe(500)
	})
	it('next changes nothing, also for a time in the future', () => {
		const bucket = new TokenBucket(1, 1_000, 1)
		bucket.reserve(0)
		expect([bucket.next(24 * HOUR), bucket.available(24 * HOUR)]).toEqual([24 * HOUR, 1])
		expect(bucket.next(1)).toBe(1_000)
	})
	it('gives a cancelled start to the next call', () => {
		const bucket = new TokenBucket(10, 1_000, 1)
		bucket.reserve(0)
		bucket.cancel(bucket.reserve(0), 0)
		expect(bucket.reserve(0)).toBe(100)
		const unused = new TokenBucket(10, 1_000, 1)
		unused.cancel(unused.reserve(0.3), 50)
		expect(unused.reserve(50)).toBe(50)
	})
	it('does not undo a start before a later one', () => {
		const bucket = new TokenBucket(10, 1_000, 1)
		expect([0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 100, 200])
		expect(bucket.cancel(100, 0)).toBe(false)
		expect(bucket.next(0)).toBe(300)
	})
	it('undoes starts from the last to one in the current tick', () => {
		const bucket = new TokenBucket(1, 1_000, 1)
		const [, second = 0, third = 0] = [0.1, 0.1, 0.1].map((now) => bucket.reserve(now))
		expect([bucket.cancel(third, 1_000.1), bucket.cancel(second, 1_000.1)]).toEqual([true, true])
		expect(bucket.next(1_100)).toBe(1_100)
	})
	it('does not refund a token above the burst', () => {
		const bucket = new TokenBucket(10, 1_000, 2)
		const first = bucket.reserve(0)
		bucket.reserve(90)
		bucket.cancel(first, 95)
		expect([bucket.reserve(95), bucket.reserve(95)]).toEqual([100, 200])
	})
	it('keeps the taken tokens when its settings change', () => {
		const bucket = new TokenBucket(10, 1_000, 10)
		for (let i = 0; i < 7; i++) bucket.reserve(0)
		bucket.update(20, 1_000, 20, 0)
		expect(bucket.available(0)).toBe(13)
		bucket.update(10, 1_000, 5, 0)
		expect(bucket.available(0)).toBe(0)
		expect(bucket.next(0)).toBe(300)
	})
	it('refills at the old rate before an update and at the new rate after it', () => {
		const bucket = new TokenBucket(10, 1_000, 10)
		for (let i = 0; i < 7; i++) bucket.reserve(0)
		bucket.update(20, 1_000, 10, 300)
		expect([300, 349, 350, 500].map((now) => bucket.available(now))).toEqual([6, 6, 7, 10])
	})
	it('stays full when its settings change', () => {
		const bucket = new TokenBucket(10, 1_000, 10)
		bucket.reserve(0)
		bucket.update(20, 1_000, 20, 300)
		expect(bucket.available(300)).toBe(20)
	})
	it('starts a new rate after the waiting calls', () => {
		const bucket = new TokenBucket(1, 1_000, 1)
		expect([0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 1_000, 2_000])
		bucket.update(10, 1_000, 10, 0)
		expect([0, 0].map((now) => bucket.reserve(now))).toEqual([2_100, 2_200])
		bucket.update(1, 1_000, 5, 0)
		bucket.update(20, 1_000, 1, 0)
		expect(bucket.reserve(0)).toBe(2_250)
	})
	it('loses no fraction of a token when update repeats the same settings', () => {
		const bucket = new TokenBucket(10, 1_000, 1)
		bucket.reserve(0)
		for (let now = 0; now < 100; now += 10) bucket.update(10, 1_000, 1, now)
		expect(bucket.next(99)).toBe(100)
	})
})

/**
 * Of any calls that were really made, no more than a burst and what the pace gives in the time from the first to the last. That
 * one tick is added to it is the least there can be: a third of a second is between two ticks, so its start is late by a part
 * of one, and the next is not late for it.
 */
const paceHolds: Check = ({ all, limit, intervalMs, burst, settingsId }) => {
	const used = all
		.filter((reservation) => reservation.used && reservation.settingsId === settingsId)
		.map(({ start }) => exact(start))
	const end = (used.at(-1) ?? 0n) + exact(1 / 1024)
	const interval = exact(intervalMs)
	const tooMany = used.filter(
		(start, i) => BigInt(used.length - i - burst) * interval > (end - start) * BigInt(limit),
	)
	expect(tooMany).toEqual([])
}

/** The textbook algorithm: each reservation moves the time at which the bucket is full by one interval. */
function soonest(
	{ now, limit, intervalMs, burst }: PacerModel,
	reservations: readonly ModelReservation[],
): number {
	const perToken = intervalMs / limit
	let fullAt = -Infinity
	for (const { arrival } of reservations) fullAt = Math.max(arrival, fullAt) + perToken
	return Math.max(now, fullAt - (burst - 1) * perToken)
}

/** Not sooner than the active reservations allow, and later by at most a few ticks. */
const nothingIsWasted: Check = (model, pacer) => {
	const epsilon = 0.003 + Math.abs(model.now) * 1e-14
	const next = pacer.next(model.now)
	expect(next).toBeGreaterThanOrEqual(soonest(model, model.active) - epsilon)
	expect(next).toBeLessThanOrEqual(soonest(model, model.active) + epsilon)
}

describe('compared with a list of all reservations', () => {
	const run = (now: number, [limit, intervalMs, burst]: readonly [number, number, number]) => ({
		model: createModel(now, limit, intervalMs, burst),
		real: new TokenBucket(limit, intervalMs, burst),
	})

	it('keeps exactly the rate, at any fractional times', () => {
		const { base } = steps((model, pacer) => {
			paceHolds(model, pacer)
			nothingIsWasted(model, pacer)
		})
		fc.assert(
			fc.property(clocks, settings, fc.commands(base, LENGTH), (now, chosen, history) => {
				fc.modelRun(() => run(now, chosen), history)
			}),
			HISTORIES,
		)
	})

	it('does not exceed the rate when it changes', () => {
		const { base, update } = steps(paceHolds)
		fc.assert(
			fc.property(clocks, settings, fc.commands([...base, update], LENGTH), (now, chosen, history) => {
				fc.modelRun(() => run(now, chosen), history)
			}),
			HISTORIES,
		)
	})

	it('exactly available() calls start immediately', () => {
		fc.assert(
			fc.property(clocks, settings, fc.nat(40), (now, [limit, intervalMs, burst], count) => {
				const model = createModel(now, limit, intervalMs, burst)
				const bucket = new TokenBucket(limit, intervalMs, burst)
				for (let i = 0; i < count; i++) {
					take(model, bucket)
					model.now += ((i % 3) * intervalMs) / limit / 1.7
				}
				const available = bucket.available(model.now)
				for (let i = 0; i < available; i++) expect(bucket.reserve(model.now)).toBe(model.now)
				expect(bucket.available(model.now)).toBe(0)
				expect(bucket.reserve(model.now)).toBeGreaterThan(model.now)
			}),
			HISTORIES,
		)
	})
})
