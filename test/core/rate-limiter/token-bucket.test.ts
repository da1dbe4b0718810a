import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TokenBucket } from '../../../src/core/rate-limiter/token-bucket.ts'
import { HISTORIES, LENGTH } from '../window/command.ts'
import {
	type Book,
	type Booking,
	type Check,
	clocks,
	exact,
	newBook,
	settings,
	steps,
	take,
} from './bookings.ts'

const HOUR = 3_600_000

describe('a token bucket', () => {
	it('lets its burst start at once and then keeps an even pace', () => {
		const bucket = new TokenBucket(10, 1_000, 3)
		expect([0, 0, 0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 0, 0, 100, 200])
	})
	it('is full again after as many intervals of one token as were taken', () => {
		const bucket = new TokenBucket(10, 1_000, 3)
		for (let i = 0; i < 3; i++) bucket.reserve(0)
		expect([0, 99, 100, 250, 300, HOUR].map((now) => bucket.available(now))).toEqual([0, 0, 1, 2, 3, 3])
	})
	it('does not let a pace that is no whole number of milliseconds drift: a million thirds of a second', () => {
		const bucket = new TokenBucket(3, 1_000, 1)
		let start = 0
		for (let i = 0; i <= 1_000_000; i++) start = bucket.reserve(start)
		expect(start).toBeGreaterThanOrEqual(1_000_000_000 / 3)
		expect(start).toBeLessThan(1_000_000_000 / 3 + 0.01)
	})
	it('keeps 1,000,000 a second, though one in a microsecond is finer than its clock', () => {
		const bucket = new TokenBucket(1_000_000, 1_000, 1)
		let start = 0
		for (let i = 0; i <= 500_000; i++) start = bucket.reserve(0)
		expect(start).toBe(500)
	})
	it('is not changed by a question, also one about tomorrow', () => {
		const bucket = new TokenBucket(1, 1_000, 1)
		bucket.reserve(0)
		expect([bucket.next(24 * HOUR), bucket.available(24 * HOUR)]).toEqual([24 * HOUR, 1])
		expect(bucket.next(1)).toBe(1_000)
	})
	it('gives a place that was given back to the next who comes', () => {
		const bucket = new TokenBucket(10, 1_000, 1)
		bucket.reserve(0)
		bucket.cancel(bucket.reserve(0), 0)
		expect(bucket.reserve(0)).toBe(100)
		const unused = new TokenBucket(10, 1_000, 1)
		unused.cancel(unused.reserve(0.3), 50)
		expect(unused.reserve(50)).toBe(50)
	})
	it('keeps the place of one who gave up in the middle of a queue, for nobody may overtake', () => {
		const bucket = new TokenBucket(10, 1_000, 1)
		expect([0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 100, 200])
		bucket.cancel(100, 0)
		expect(bucket.next(0)).toBe(300)
	})
	it('does not take a token back that would have run over: three may not start where two may', () => {
		const bucket = new TokenBucket(10, 1_000, 2)
		const first = bucket.reserve(0)
		bucket.reserve(90)
		bucket.cancel(first, 95)
		expect([bucket.reserve(95), bucket.reserve(95)]).toEqual([100, 200])
	})
	it('does not sit out a queue of nobody: 10,000 who wait give up, first come first', () => {
		const bucket = new TokenBucket(10, 1_000, 10)
		const starts = Array.from({ length: 10_010 }, () => bucket.reserve(0))
		for (const start of starts.slice(10)) bucket.cancel(start, 50)
		expect(bucket.next(50)).toBe(100)
	})
	it('keeps taken what was taken when its settings change', () => {
		const bucket = new TokenBucket(10, 1_000, 10)
		for (let i = 0; i < 7; i++) bucket.reserve(0)
		bucket.update(20, 1_000, 20, 0)
		expect(bucket.available(0)).toBe(13)
		bucket.update(10, 1_000, 5, 0)
		expect(bucket.available(0)).toBe(0)
		expect(bucket.next(0)).toBe(300)
	})
	it('begins a new pace behind those who wait', () => {
		const bucket = new TokenBucket(1, 1_000, 1)
		expect([0, 0, 0].map((now) => bucket.reserve(now))).toEqual([0, 1_000, 2_000])
		bucket.update(10, 1_000, 10, 0)
		expect([0, 0].map((now) => bucket.reserve(now))).toEqual([2_100, 2_200])
		bucket.update(1, 1_000, 5, 0)
		bucket.update(20, 1_000, 1, 0)
		expect(bucket.reserve(0)).toBe(2_250)
	})
	it('loses nothing when the same settings are read again and again', () => {
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
const paceHolds: Check = ({ all, limit, intervalMs, burst, era }) => {
	const used = all.filter((booking) => booking.used && booking.era === era).map(({ start }) => exact(start))
	const last = used.at(-1) ?? 0n
	for (const [i, start] of used.entries()) {
		const beyondBurst = BigInt(used.length - i - burst)
		expect(beyondBurst * exact(intervalMs)).toBeLessThanOrEqual(
			(last - start + exact(1 / 1024)) * BigInt(limit),
		)
	}
}

/** The textbook: the time at which the bucket will be full moves on by one interval for each booking that counts. */
function soonest({ now, limit, intervalMs, burst }: Book, bookings: readonly Booking[]): number {
	const perToken = intervalMs / limit
	let fullAt = -Infinity
	for (const { arrival } of bookings) fullAt = Math.max(arrival, fullAt) + perToken
	return Math.max(now, fullAt - (burst - 1) * perToken)
}

/** Not sooner than what stands allows, and later by no more than some ticks. */
const nothingIsWasted: Check = (book, pacer) => {
	const hair = 0.003 + Math.abs(book.now) * 1e-14
	const next = pacer.next(book.now)
	expect(next).toBeGreaterThanOrEqual(soonest(book, book.standing) - hair)
	expect(next).toBeLessThanOrEqual(soonest(book, book.kept) + hair)
}

describe('against all bookings', () => {
	const run = (now: number, [limit, intervalMs, burst]: readonly [number, number, number]) => ({
		model: newBook(now, limit, intervalMs, burst),
		real: new TokenBucket(limit, intervalMs, burst),
	})

	it('the pace is never exceeded and never missed, at any fractional times', () => {
		const { base } = steps((book, pacer) => {
			paceHolds(book, pacer)
			nothingIsWasted(book, pacer)
		})
		fc.assert(
			fc.property(clocks, settings, fc.commands(base, LENGTH), (now, chosen, history) => {
				fc.modelRun(() => run(now, chosen), history)
			}),
			HISTORIES,
		)
	})

	it('nor is it exceeded when it changes in between', () => {
		const { base, update } = steps(paceHolds)
		fc.assert(
			fc.property(clocks, settings, fc.commands([...base, update], LENGTH), (now, chosen, history) => {
				fc.modelRun(() => run(now, chosen), history)
			}),
			HISTORIES,
		)
	})

	it('as many start at once as it says', () => {
		fc.assert(
			fc.property(clocks, settings, fc.nat(40), (now, [limit, intervalMs, burst], count) => {
				const book = newBook(now, limit, intervalMs, burst)
				const bucket = new TokenBucket(limit, intervalMs, burst)
				for (let i = 0; i < count; i++) {
					take(book, bucket)
					book.now += ((i % 3) * intervalMs) / limit / 1.7
				}
				const available = bucket.available(book.now)
				for (let i = 0; i < available; i++) expect(bucket.reserve(book.now)).toBe(book.now)
				expect(bucket.available(book.now)).toBe(0)
				expect(bucket.reserve(book.now)).toBeGreaterThan(book.now)
			}),
			HISTORIES,
		)
	})
})
