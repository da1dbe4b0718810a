import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScanSchedule } from '../../../src/outbox/timing/scan-schedule.ts'

test('the first look is at everything, and at once', () => {
	const lookout = new ScanSchedule(1_000)
	expect(lookout.since(0)).toBe(0)
	expect(lookout.nextAt).toBe(-Infinity)
})

test('a look goes on from the latest due time, until everything is looked at again', () => {
	const lookout = new ScanSchedule(1_000)
	lookout.looked(0, 0, 10, false, 5_000)
	expect(lookout.since(11)).toBe(5_000)
	// Twenty times what the whole look took.
	expect(lookout.since(209)).toBe(5_000)
	expect(lookout.since(210)).toBe(0)
})

test('a look that found as much as it wanted is followed by another at once, a short one by the next poll', () => {
	const lookout = new ScanSchedule(1_000)
	lookout.looked(0, 0, 10, false, 5_000)
	expect(lookout.nextAt).toBe(-Infinity)
	lookout.looked(0, 10, 12, true, 5_000)
	expect(lookout.nextAt).toBe(1_012)
})

test('what a look from the bound did not find may lie before it: the whole look comes sooner than the poll', () => {
	const lookout = new ScanSchedule(1_000)
	lookout.looked(0, 0, 10, false, 5_000)
	lookout.looked(5_000, 20, 21, true, 5_000)
	expect(lookout.nextAt).toBe(210)
})

test('an expected message makes the next look earlier, never later', () => {
	const lookout = new ScanSchedule(1_000)
	lookout.looked(0, 0, 0, true, 0)
	lookout.expect(400)
	lookout.expect(800)
	lookout.expect(Infinity)
	expect(lookout.nextAt).toBe(400)
	lookout.waitUntil(600)
	expect(lookout.nextAt).toBe(600)
	lookout.startOver()
	expect(lookout.nextAt).toBe(-Infinity)
	expect(lookout.since(0)).toBe(0)
})

test('whatever happens, everything is looked at within a twentieth of the time, and a look is never more than a poll away', () => {
	const look = fc.record({ takes: fc.integer({ min: 0, max: 500 }), short: fc.boolean(), due: fc.nat(1e6) })
	fc.assert(
		fc.property(fc.array(look, { maxLength: 50 }), fc.integer({ min: 1, max: 5_000 }), (looks, pollMs) => {
			const lookout = new ScanSchedule(pollMs)
			let now = 0
			let lastWhole = { endedAt: 0, took: 0 }
			let bound = 0
			for (const { takes, short, due } of looks) {
				const since = lookout.since(now)
				const beganAt = now
				if (since !== 0) expect(since).toBe(bound)
				if (since !== 0) expect(now).toBeLessThan(lastWhole.endedAt + 20 * lastWhole.took)
				now += takes
				if (since === 0) lastWhole = { endedAt: now, took: takes }
				bound = Math.max(bound, due)
				lookout.looked(since, beganAt, now, short, due)
				expect(lookout.nextAt).toBeLessThanOrEqual(now + pollMs)
			}
		}),
	)
})
