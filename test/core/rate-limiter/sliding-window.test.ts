import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SlidingWindow } from '../../../src/core/rate-limiter/sliding-window.ts'
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

describe('a sliding window', () => {
	it('lets its limit start at once, and the next when the first is an interval old', () => {
		const window = new SlidingWindow(3, 1_000)
		expect([0, 0, 0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 0, 0, 1_000, 1_000])
	})
	it('lets a start at the very end of an interval through: the window is half open', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(5)
		expect(window.next(1_004)).toBe(1_005)
		expect(window.next(1_005)).toBe(1_005)
	})
	it('lets nothing through a hair before, however small: the clock is finer than a tick', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		expect(window.next(999.9999)).toBe(1_000)
		expect(window.available(999.9999)).toBe(0)
	})
	it('never lets twice the limit through around a border', () => {
		const window = new SlidingWindow(2, 1_000)
		window.reserve(990)
		window.reserve(995)
		expect([window.reserve(1_000), window.reserve(1_000)]).toEqual([1_990, 1_995])
	})
	it('says how many could start at once', () => {
		const window = new SlidingWindow(3, 1_000)
		expect(window.available(0)).toBe(3)
		window.reserve(0)
		window.reserve(400)
		expect([window.available(400), window.available(999), window.available(1_000)]).toEqual([1, 1, 2])
		expect(window.available(HOUR)).toBe(3)
	})
	it('is not changed by a question, also one about tomorrow', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		expect(window.next(24 * HOUR)).toBe(24 * HOUR)
		expect(window.next(1)).toBe(1_000)
	})
	it('gives a place that was given back to the next who comes', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		window.cancel(window.reserve(0), 0)
		expect(window.reserve(0)).toBe(1_000)
		window.cancel(1_000, 500)
		window.cancel(0, 500)
		expect(window.reserve(500)).toBe(500)
	})
	it('never has more places than its limit, though one is given back that has long been free', () => {
		const window = new SlidingWindow(2, 1_000)
		const start = window.reserve(0)
		expect(window.available(2_000)).toBe(2)
		window.cancel(start, 2_000)
		expect(window.available(2_000)).toBe(2)
	})
	it('keeps the place of one who gave up in the middle of a queue, for nobody may overtake', () => {
		const window = new SlidingWindow(1, 1_000)
		expect([0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 1_000, 2_000])
		window.cancel(1_000, 0)
		expect(window.next(0)).toBe(3_000)
	})
	it('does not sit out a queue of nobody: 10,000 who wait give up, first come first', () => {
		const window = new SlidingWindow(10, 1_000)
		const starts = Array.from({ length: 10_010 }, () => window.reserve(0))
		for (const start of starts.slice(10)) window.cancel(start, 500)
		expect(window.next(500)).toBe(1_000)
		expect(window.next(1_000)).toBe(1_000)
	})
	it('keeps what is booked under a new limit, and lets no newcomer overtake', () => {
		const window = new SlidingWindow(1, 1_000)
		expect([0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 1_000, 2_000])
		window.update(5, 1_000)
		expect(window.available(0)).toBe(0)
		expect([0, 0, 0, 0, 0].map((now) => window.reserve(now))).toEqual([2_000, 2_000, 2_000, 2_000, 3_000])
	})
	it('counts the latest starts towards a new limit', () => {
		const window = new SlidingWindow(5, 1_000)
		for (let i = 0; i < 5; i++) window.reserve(i * 100)
		window.update(2, 1_000)
		expect(window.reserve(400)).toBe(1_300)
		window.update(3, 10_000)
		expect(window.reserve(1_300)).toBe(10_300)
	})
	it('counts starts again that a longer interval reaches back to', () => {
		const window = new SlidingWindow(3, 1_000)
		window.reserve(0)
		window.reserve(100)
		expect(window.available(1_500)).toBe(3)
		window.update(3, 10_000)
		expect(window.available(1_500)).toBe(1)
	})
	it('holds its limit over 100,000 starts at uneven times', () => {
		const window = new SlidingWindow(100, 1_000)
		const starts: number[] = []
		for (let i = 0, now = 0.1; i < 100_000; i++) {
			now = Math.max(now + ((i * 7_919) % 97) / 7, starts.at(-1) ?? 0)
			starts.push(window.reserve(now))
		}
		const tooSoon = starts.filter((start, i) => start - (starts[i - 100] ?? -Infinity) < 1_000 - 1e-9)
		expect(tooSoon).toEqual([])
	})
})

/** Of any `limit` + 1 calls that were really made, the last is an interval or more after the first. */
const limitHolds: Check = ({ all, limit, intervalMs, era }) => {
	const used = all.filter((booking) => booking.used)
	for (let i = limit; i < used.length; i++) {
		const first = used[i - limit]
		const last = used[i]
		if (last?.era === era && first)
			expect(exact(last.start) - exact(first.start)).toBeGreaterThanOrEqual(exact(intervalMs))
	}
}

/** When the next may start, if these bookings and no others count. */
function soonest({ now, limit, intervalMs }: Book, bookings: readonly Booking[]): number {
	const full = bookings[bookings.length - limit]
	return Math.max(now, full ? full.start + intervalMs : now, bookings.at(-1)?.start ?? now)
}

/** Not sooner than what stands allows, and later by no more than the tick that a time is rounded to. */
const nothingIsWasted: Check = (book, pacer) => {
	const { now, kept, standing, limit, intervalMs } = book
	const next = pacer.next(now)
	expect(next).toBeGreaterThanOrEqual(soonest(book, standing) - 1e-3)
	expect(next).toBeLessThanOrEqual(soonest(book, kept) + 1e-3)
	const recent = kept.filter((booking) => booking.start > now - intervalMs - 1e-3).length
	if (next === now) expect(pacer.available(now)).toBeGreaterThanOrEqual(limit - recent)
}

describe('against a list of all starts', () => {
	const { base, update } = steps((book, pacer) => {
		limitHolds(book, pacer)
		nothingIsWasted(book, pacer)
	})

	it('no stretch of an interval ever has more starts than the limit, at any fractional times', () => {
		fc.assert(
			fc.property(clocks, settings, fc.commands(base, LENGTH), (now, [limit, intervalMs, burst], history) => {
				fc.modelRun(
					() => ({
						model: newBook(now, limit, intervalMs, burst),
						real: new SlidingWindow(limit, intervalMs),
					}),
					history,
				)
			}),
			HISTORIES,
		)
	})

	it('nor has it when the limit changes in between', () => {
		fc.assert(
			fc.property(
				clocks,
				settings,
				fc.commands([...base, update], LENGTH),
				(now, [limit, intervalMs, burst], history) => {
					fc.modelRun(
						() => ({
							model: newBook(now, limit, intervalMs, burst),
							real: new SlidingWindow(limit, intervalMs),
						}),
						history,
					)
				},
			),
			HISTORIES,
		)
	})

	it('as many start at once as it says', () => {
		fc.assert(
			fc.property(clocks, settings, fc.nat(40), (now, [limit, intervalMs, burst], count) => {
				const book = newBook(now, Math.min(limit, 20), intervalMs, burst)
				const window = new SlidingWindow(book.limit, intervalMs)
				for (let i = 0; i < count; i++) {
					take(book, window)
					book.now += (i % 3) * (intervalMs / 17)
				}
				const available = window.available(book.now)
				for (let i = 0; i < available; i++) expect(window.reserve(book.now)).toBe(book.now)
				expect(window.reserve(book.now)).toBeGreaterThan(book.now)
			}),
			HISTORIES,
		)
	})
})
