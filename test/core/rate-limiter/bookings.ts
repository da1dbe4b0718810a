/** Random histories of a pacer, and what may be said of one without rounding. */
import fc, { type Arbitrary, type Command } from 'fast-check'
import { expect } from 'vitest'
import type { Pacer } from '../../../src/core/rate-limiter/pacer.ts'
import { command } from '../window/command.ts'

export interface Booking {
	readonly arrival: number
	readonly start: number
	/** False once it has been given back. */
	used: boolean
	/** Which settings it was made under. */
	readonly era: number
}

export interface Book {
	now: number
	limit: number
	intervalMs: number
	burst: number
	era: number
	/** Bookings whose places are taken, in the order in which they were made: no place is taken but by these ... */
	standing: Booking[]
	/** ... and those that a pacer may count too: given back too late for their places to be of use. */
	kept: Booking[]
	/** Whether a pacer must know its latest booking: not one that did not wait, once a later one was given back. */
	knowsLatest: boolean
	/** All that were ever made. */
	all: Booking[]
}

/** What comes after each step. */
export type Check = (book: Book, pacer: Pacer) => void

export const newBook = (now: number, limit: number, intervalMs: number, burst: number): Book => ({
	now,
	limit,
	intervalMs,
	burst,
	era: 0,
	standing: [],
	kept: [],
	knowsLatest: false,
	all: [],
})

/** A time as a whole number, without loss: a double has no bit below the 200th after the point, unless it is next to 0. */
export const exact = (ms: number): bigint => BigInt(ms * 2 ** 200)

/** A pacer's clock is no finer than this. */
const tick = (ms: number): number => Math.ceil(ms * 1024)

/** Tiny fractions of nothing say nothing about a clock, and `exact` can not hold them. */
const time = (max: number): Arbitrary<number> =>
	fc.double({ min: 0, max, noNaN: true }).map((ms) => (ms < 1e-9 ? 0 : ms))

export const clocks: Arbitrary<number> = fc.oneof(
	fc.constantFrom(0, 0.1, -7_200_000, 1.7e12),
	time(1e9),
	time(1e6).map((ms) => -ms),
)

export const settings: Arbitrary<readonly [limit: number, intervalMs: number, burst: number]> = fc.tuple(
	fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constantFrom(3_000, 1_000_000)),
	fc.constantFrom(1, 7, 1_000, 3_600_000),
	fc.integer({ min: 1, max: 8 }),
)

export type Step = Arbitrary<Command<Book, Pacer>>

export function take(book: Book, pacer: Pacer): void {
	const { now, era } = book
	const next = pacer.next(now)
	const available = pacer.available(now)
	expect(available > 0).toBe(next === now)
	const start = pacer.reserve(now)
	expect(start).toBe(next)
	expect(start).toBeGreaterThanOrEqual(now)
	expect(tick(start)).toBeGreaterThanOrEqual(tick(book.standing.at(-1)?.start ?? now))
	const booking = { arrival: now, start, used: true, era }
	book.standing.push(booking)
	book.kept.push(booking)
	book.knowsLatest = true
	book.all.push(booking)
}

/** The steps of a history; `check` follows each of them. */
export function steps(check: Check): { base: Step[]; update: Step } {
	const step = (label: string, run: Check) =>
		command<Book, Pacer>(label, (book, pacer) => {
			run(book, pacer)
			check(book, pacer)
		})
	const base: Step[] = [
		fc.integer({ min: 1, max: 6 }).map((count) =>
			step(`take ${count}`, (book, pacer) => {
				for (let i = 0; i < count; i++) take(book, pacer)
			}),
		),
		time(3).map((intervals) =>
			step(`wait ${intervals} intervals`, (book) => {
				book.now += intervals * book.intervalMs
			}),
		),
		fc.nat(5).map((places) =>
			step(`wait for ${places} at this pace`, (book) => {
				book.now += (places * book.intervalMs) / book.limit
			}),
		),
		fc.constant(
			step('wait until the next may start', (book, pacer) => {
				book.now = pacer.next(book.now)
				expect(pacer.next(book.now)).toBe(book.now)
			}),
		),
		fc.constant(
			step('wait until a hair before the next may start', (book, pacer) => {
				book.now = Math.max(book.now, pacer.next(book.now) - 0.0003)
			}),
		),
		fc.integer({ min: 1, max: 100 }).map((hours) =>
			step(`idle for ${hours} hours`, (book) => {
				book.now += hours * 3_600_000
			}),
		),
		fc.nat().map((which) =>
			step(`give back ${which}`, (book, pacer) => {
				const used = book.standing.filter((booking) => booking.used)
				const booking = used[which % Math.max(1, used.length)]
				if (booking) giveBack(book, pacer, booking)
			}),
		),
		fc.constant(
			step('all who wait give up, first come first', (book, pacer) => {
				for (const booking of [...book.standing])
					if (booking.used && booking.start > book.now) giveBack(book, pacer, booking)
			}),
		),
	]
	const update = settings.map(([limit, intervalMs, burst]) =>
		step(`update(${limit}, ${intervalMs}, ${burst})`, (book, pacer) => {
			Object.assign(book, { limit, intervalMs, burst, era: book.era + 1 })
			pacer.update(limit, intervalMs, burst, book.now)
		}),
	)
	return { base, update }
}

/** The place is free again as soon as no later booking stands. One is as good as another that starts in the same tick. */
function giveBack(book: Book, pacer: Pacer, { start }: Booking): void {
	const { standing, kept, now } = book
	const booking = standing.findLast((other) => other.used && tick(other.start) === tick(start))
	if (!booking) throw new Error('nothing to give back')
	booking.used = false
	pacer.cancel(start, now)
	while (standing.at(-1)?.used === false) standing.pop()
	while (book.knowsLatest && kept.at(-1)?.used === false && (kept.at(-1) === booking || waits(book))) {
		kept.pop()
		book.knowsLatest = waits(book)
	}
}

const waits = ({ kept, now }: Book) => (kept.at(-1)?.start ?? now) > now + 1e-3
