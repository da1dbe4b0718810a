import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TimeWindow } from '../../../src/core/structures/time-window.ts'
import { command, HISTORIES, LENGTH } from './command.ts'

const HOUR = 3_600_000

describe('a TimeWindow', () => {
	it('counts the records within its length, each kind separately', () => {
		const window = new TimeWindow(1_000, 2)
		window.add(0, 0)
		window.add(300, 1, 5)
		window.add(600, 0)
		expect([window.sum(999, 0), window.sum(999, 1)]).toEqual([2, 5])
		expect([window.sum(1_000, 0), window.sum(1_000, 1)]).toEqual([1, 5])
		expect([window.sum(1_600, 0), window.sum(1_600, 1)]).toEqual([0, 0])
	})
	it('records in ten buckets, which expire one by one', () => {
		const window = new TimeWindow(1_000, 1)
		for (let at = 0; at < 1_000; at += 50) window.add(at, 0)
		const sums = Array.from({ length: 10 }, (_, bucket) => [
			window.sum(999 + 100 * bucket, 0),
			window.sum(1_000 + 100 * bucket, 0),
		])
		expect(sums).toEqual(Array.from({ length: 10 }, (_, bucket) => [20 - 2 * bucket, 18 - 2 * bucket]))
	})
	it('nothing before the first record and after clear', () => {
		const window = new TimeWindow(1_000, 1)
		expect(window.sum(5, 0)).toBe(0)
		window.add(5, 0)
		window.clear()
		expect(window.sum(5, 0)).toBe(0)
		window.add(6, 0)
		expect(window.sum(6, 0)).toBe(1)
	})
	it('nothing after an idle hour', () => {
		const window = new TimeWindow(10_000, 1)
		for (let i = 0; i < 100; i++) window.add(i, 0)
		expect(window.sum(HOUR, 0)).toBe(0)
	})
	it('counts a record with an earlier time in the latest bucket', () => {
		const window = new TimeWindow(1_000, 1)
		window.add(5_000, 0)
		window.add(4_000, 0)
		expect(window.sum(5_000, 0)).toBe(2)
		expect(window.sum(6_000, 0)).toBe(0)
	})
})

describe('resize', () => {
	it('keeps the counts for the new length', () => {
		const window = new TimeWindow(1_000, 1)
		window.add(0, 0, 3)
		window.resize(500, 10_000)
		expect(window.sum(10_499, 0)).toBe(3)
		expect(window.sum(10_500, 0)).toBe(0)
	})
	it('resize to a longer window does not keep counts forever (regression: bucket numbers of the old length)', () => {
		const window = new TimeWindow(1_000, 1)
		window.add(1_000_000, 0)
		window.resize(1_000_000, 10_000)
		window.add(1_000_000, 0)
		expect(window.sum(1_010_000, 0)).toBe(0)
	})
	it('resize to the same length does not renew old counts', () => {
		const window = new TimeWindow(1_000, 1)
		window.add(0, 0)
		window.resize(900, 1_000)
		expect(window.sum(1_000, 0)).toBe(0)
	})
})

interface Model {
	now: number
	windowMs: number
	records: { at: number; kind: number; amount: number }[]
}

/** Returns the minimum and maximum that a window with ten buckets may return, from a list of all records. */
function bounds({ now, windowMs, records }: Model, kind: number): [number, number] {
	let min = 0
	let max = 0
	// The rounding error of times far from zero.
	const epsilon = Math.abs(now) * 1e-14 + windowMs * 1e-9
	for (const record of records) {
		if (record.kind !== kind) continue
		const age = now - record.at
		if (age < 0.9 * windowMs - epsilon) min += record.amount
		if (age < windowMs + epsilon) max += record.amount
	}
	return [min, max]
}

const kind = fc.nat(2)
const pause = (windowMs: number) =>
	fc.oneof(
		fc.constant(0),
		fc.double({ min: 0, max: windowMs / 3, noNaN: true }),
		fc.double({ min: 0, max: 3 * windowMs, noNaN: true }),
		fc.integer({ min: 1, max: 100 }).map((hours) => hours * HOUR),
	)

describe('compared with a list of all records', () => {
	it('never counts a record older than its length, and always one younger than nine tenths of it', () => {
		const commands = fc.commands<Model, TimeWindow>(
			[
				fc.tuple(kind, fc.nat(5)).map(([k, amount]) =>
					command(`add(${k}, ${amount})`, (model, real) => {
						model.records.push({ at: model.now, kind: k, amount })
						real.add(model.now, k, amount)
					}),
				),
				pause(1_000).map((ms) =>
					command(`wait(${ms})`, (model) => {
						model.now += ms
					}),
				),
				kind.map((k) =>
					command(`sum(${k})`, (model, real) => {
						const sum = real.sum(model.now, k)
						const [min, max] = bounds(model, k)
						expect(sum).toBeGreaterThanOrEqual(min)
						expect(sum).toBeLessThanOrEqual(max)
						expect(real.sum(model.now, k)).toBe(sum)
					}),
				),
				fc.constantFrom(1, 333.3, 1_000, 7_000).map((windowMs) =>
					command(`resize(${windowMs})`, (model, real) => {
						if (windowMs !== model.windowMs) {
							model.records = [0, 1, 2].map((k) => ({
								at: model.now,
								kind: k,
								amount: real.sum(model.now, k),
							}))
						}
						model.windowMs = windowMs
						real.resize(model.now, windowMs)
					}),
				),
			],
			LENGTH,
		)
		const start = fc.oneof(
			fc.constantFrom(0, -5 * HOUR, 1.7e12, 0.1),
			fc.double({ min: -1e9, max: 1e12, noNaN: true }),
		)
		fc.assert(
			fc.property(start, commands, (now, history) => {
				fc.modelRun(
					() => ({ model: { now, windowMs: 1_000, records: [] }, real: new TimeWindow(1_000, 3) }),
					history,
				)
			}),
			HISTORIES,
		)
	})

	it('returns 0 after the window: running sums do not drift', () => {
		fc.assert(
			fc.property(fc.array(pause(500), { maxLength: 100 }), (pauses) => {
				const window = new TimeWindow(500, 1)
				let now = -100
				for (const ms of pauses) {
					now += ms
					window.add(now, 0)
				}
				expect(window.sum(now, 0)).toBeGreaterThanOrEqual(pauses.length > 0 ? 1 : 0)
				expect(window.sum(now + 501, 0)).toBe(0)
			}),
			HISTORIES,
		)
	})
})
