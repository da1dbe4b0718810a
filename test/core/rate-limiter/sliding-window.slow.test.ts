import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SlidingWindow } from '../../../src/core/rate-limiter/sliding-window.ts'
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

describe('SlidingWindow', () => {
	it('starts the limit immediately, and the next when the first start is one interval old', () => {
		const window = new SlidingWindow(3, 1_000)
		expect([0, 0, 0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 0, 0, 1_000, 1_000])
	})
	it('allows a start exactly one interval later: the window is half open', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(5)
		expect(window.next(1_004)).toBe(1_005)
		expect(window.next(1_005)).toBe(1_005)
	})
	it('allows no start even a fraction of a tick too early', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		expect(window.next(999.9999)).toBe(1_000)
		expect(window.available(999.9999)).toBe(0)
	})
	it('never allows twice the limit around a window border', () => {
		const window = new SlidingWindow(2, 1_000)
		window.reserve(990)
		window.reserve(995)
		expect([window.reserve(1_000), window.reserve(1_000)]).toEqual([1_990, 1_995])
	})
	it('available returns how many calls may start now', () => {
		const window = new SlidingWindow(3, 1_000)
		expect(window.available(0)).toBe(3)
		window.reserve(0)
		window.reserve(400)
		expect([window.available(400), window.available(999), window.available(1_000)]).toEqual([1, 1, 2])
		expect(window.available(HOUR)).toBe(3)
	})
	it('available is exact when many starts expire together', () => {
		const window = new SlidingWindow(100, 1_000)
		for (let i = 0; i < 100; i++) window.reserve(0)
		window.reserve(1_000)
		expect(window.available(1_000)).toBe(99)
	})
	it('next changes nothing, also for a time in the future', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		expect(window.next(24 * HOUR)).toBe(24 * HOUR)
		expect(window.next(1)).toBe(1_000)
	})
	it('gives a cancelled start to the next call', () => {
		const window = new SlidingWindow(1, 1_000)
		window.reserve(0)
		window.cancel(window.reserve(0))
		expect(window.reserve(0)).toBe(1_000)
		window.cancel(1_000)
		window.cancel(0)
		expect(window.reserve(500)).toBe(500)
	})
	it('never exceeds its limit after the cancellation of an expired start', () => {
		const window = new SlidingWindow(2, 1_000)
		const start = window.reserve(0)
		expect(window.available(2_000)).toBe(2)
		window.cancel(start)
		expect(window.available(2_000)).toBe(2)
	})
	it('does not undo a start before a later one', () => {
		const window = new SlidingWindow(1, 1_000)
		expect([0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 1_000, 2_000])
		expect(window.cancel(1_000)).toBe(false)
		expect(window.next(0)).toBe(3_000)
	})
	it('keeps reservations under a new limit, and no new call overtakes', () => {
		const window = new SlidingWindow(1, 1_000)
		expect([0, 0, 0].map((now) => window.reserve(now))).toEqual([0, 1_000, 2_000])
		window.update(5, 1_000)
		expect(window.available(0)).toBe(0)
		expect([0, 0, 0, 0, 0].map((now) => window.reserve(now))).toEqual([2_000, 2_000, 2_000, 2_000, 3_000])
	})
	it('counts the latest starts against a new limit', () => {
		const window = new SlidingWindow(5, 1_000)
		for (let i = 0; i < 5; i++) window.reserve(i * 100)
		window.update(2, 1_000)
		expect(window.reserve(400)).toBe(1_300)
		window.update(3, 10_000)
		expect(window.reserve(1_300)).toBe(10_300)
	})
	it('counts starts again that a longer interval includes', () => {
		const window = new SlidingWindow(3, 1_000)
		window.reserve(0)
		window.reserve(100)
		expect(window.available(1_500)).toBe(3)
		window.update(3, 10_000)
		expect(window.available(1_500)).toBe(1)
	})
	it('holds its limit over 100,000 starts at irregular times', () => {
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

/** Of any `limit` + 1 calls that were made, the last is at least one interval after the first. */
const limitHolds: Check = ({ all, limit, intervalMs, settingsId }) => {
	const used = all.filter((reservation) => reservation.used)
	for (let i = limit; i < used.length; i++) {
		const first = used[i - limit]
		const last = used[i]
		if (last?.settingsId === settingsId && first)
			expect(exact(last.start) - exact(first.start)).toBeGreaterThanOrEqual(exact(intervalMs))
	}
}

/** Returns when the next call may start if only these reservations count. */
function soonest({ now, limit, intervalMs }: PacerModel, reservations: readonly ModelReservation[]): number {
	const full = reservations[reservations.length - limit]
	return Math.max(now, full ? full.start + intervalMs : now, reservations.at(-1)?.start ?? now)
}

/** Not sooner than the active reservations allow, and later by at most one tick of rounding. */
const nothingIsWasted: Check = (model, pacer) => {
	const { now, active, limit, intervalMs } = model
	const next = pacer.next(now)
	expect(next).toBeGreaterThanOrEqual(soonest(model, active) - 1e-3)
	expect(next).toBeLessThanOrEqual(soonest(model, active) + 1e-3)
	const recent = active.filter((reservation) => reservation.start > now - intervalMs - 1e-3).length
	if (next === now) expect(pacer.available(now)).toBeGreaterThanOrEqual(limit - recent)
}

describe('compared with a list of all starts', () => {
	const { base, update } = steps((model, pacer) => {
		limitHolds(model, pacer)
		nothingIsWasted(model, pacer)
	})

	it('no interval has more starts than the limit, at any fractional times', () => {
		fc.assert(
			fc.property(clocks, settings, fc.commands(base, LENGTH), (now, [limit, intervalMs, burst], history) => {
				fc.modelRun(
					() => ({
						model: createModel(now, limit, intervalMs, burst),
						real: new SlidingWindow(limit, intervalMs),
					}),
					history,
				)
			}),
			HISTORIES,
		)
	})

	it('no interval has more starts than the limit when the limit changes', () => {
		fc.assert(
			fc.property(
				clocks,
				settings,
				fc.commands([...base, update], LENGTH),
				(now, [limit, intervalMs, burst], history) => {
					fc.modelRun(
						() => ({
							model: createModel(now, limit, intervalMs, burst),
							real: new SlidingWindow(limit, intervalMs),
						}),
						history,
					)
				},
			),
			HISTORIES,
		)
	})

	it('exactly available() calls start immediately', () => {
		fc.assert(
			fc.property(clocks, settings, fc.nat(40), (now, [limit, intervalMs, burst], count) => {
				const model = createModel(now, Math.min(limit, 20), intervalMs, burst)
				const window = new SlidingWindow(model.limit, intervalMs)
				for (let i = 0; i < count; i++) {
					take(model, window)
					model.now += (i % 3) * (intervalMs / 17)
				}
				const available = window.available(model.now)
				for (let i = 0; i < available; i++) expect(window.reserve(model.now)).toBe(model.now)
				expect(window.reserve(model.now)).toBeGreaterThan(model.now)
			}),
			HISTORIES,
		)
	})
})
