import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScanSchedule } from '../../../src/outbox/timing/scan-schedule.ts'

test('the first scan is a full scan and runs immediately', () => {
	const schedule = new ScanSchedule(1_000)
	expect(schedule.since(0)).toBe(0)
	expect(schedule.nextAt).toBe(-Infinity)
})

test('a scan starts at the latest due time until the next full scan', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 10, false, 5_000)
	expect(schedule.since(11)).toBe(5_000)
	// Twenty times the duration of the full scan.
	expect(schedule.since(209)).toBe(5_000)
	expect(schedule.since(210)).toBe(0)
})

test('a scan that reached its limit is followed by another immediately, a complete one after pollMs', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 10, false, 5_000)
	expect(schedule.nextAt).toBe(-Infinity)
	schedule.recordScan(0, 10, 12, true, 5_000)
	expect(schedule.nextAt).toBe(1_012)
})

test('after a complete partial scan the full scan comes before the poll', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 10, false, 5_000)
	schedule.recordScan(5_000, 20, 21, true, 5_000)
	expect(schedule.nextAt).toBe(210)
})

test('an expected message moves the next scan forward, never back', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 0, true, 0)
	schedule.expect(400)
	schedule.expect(800)
	schedule.expect(Infinity)
	expect(schedule.nextAt).toBe(400)
	schedule.waitUntil(600)
	expect(schedule.nextAt).toBe(600)
	schedule.reset()
	expect(schedule.nextAt).toBe(-Infinity)
	expect(schedule.since(0)).toBe(0)
})

test('full scans take at most 5 % of the time, and a scan is never more than pollMs away', () => {
	const scan = fc.record({ takes: fc.integer({ min: 0, max: 500 }), short: fc.boolean(), due: fc.nat(1e6) })
	fc.assert(
		fc.property(fc.array(scan, { maxLength: 50 }), fc.integer({ min: 1, max: 5_000 }), (scans, pollMs) => {
			const schedule = new ScanSchedule(pollMs)
			let now = 0
			let lastFull = { endedAt: 0, took: 0 }
			let bound = 0
			for (const { takes, short, due } of scans) {
				const since = schedule.since(now)
				const startedAt = now
				if (since !== 0) expect(since).toBe(bound)
				if (since !== 0) expect(now).toBeLessThan(lastFull.endedAt + 20 * lastFull.took)
				now += takes
				if (since === 0) lastFull = { endedAt: now, took: takes }
				bound = Math.max(bound, due)
				schedule.recordScan(since, startedAt, now, short, due)
				expect(schedule.nextAt).toBeLessThanOrEqual(now + pollMs)
			}
		}),
	)
})
