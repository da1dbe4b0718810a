import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ScanSchedule } from '../../../src/outbox/relay/scan-schedule.ts'

test('the first scan is a full scan and runs immediately', () => {
	const schedule = new ScanSchedule(1_000)
	expect(schedule.since(0)).toBe(0)
	expect(schedule.nextAt).toBe(-Infinity)
})

test('the limit of scans grows from the first one while they are fast, and stays while they are slow', () => {
	const schedule = new ScanSchedule(1_000, 1)
	const limits: number[] = []
	for (const took of [500, 100, 10, 10, 500, 10]) {
		limits.push(schedule.limit(5_000, 50))
		schedule.recordScan(5_000, 0, took, false, 5_000)
	}
	expect([...limits, schedule.limit(5_000, 50)]).toEqual([1, 1, 1, 4, 16, 16, 50])
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

test('after a full scan that reached its limit, scans continue after its last message until one is complete', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 10, true, 5_000)
	schedule.recordScan(0, 210, 220, false, 1_000)
	expect(schedule.since(221)).toBe(1_000)
	schedule.recordScan(1_000, 221, 222, false, 2_000)
	expect(schedule.since(223)).toBe(2_000)
	schedule.recordScan(2_000, 223, 224, true, 2_500)
	expect(schedule.since(225)).toBe(5_000)
})

test.each([
	[1, 20],
	[20, 400],
])('a full scan that took %i ms is repeated after %i ms', (took, gap) => {
	const schedule = new ScanSchedule(10_000)
	schedule.recordScan(0, 0, took, true, 5_000)
	expect(schedule.since(took + gap - 1)).toBe(5_000)
	expect(schedule.since(took + gap)).toBe(0)
	expect(schedule.limit(0, 2_000)).toBe(2_000)
})

test.each([
	[10, 200],
	[30, 600],
	[60, 800],
	[80, 800],
	[200, 2_000],
])(
	'after a long full scan a small one measures its cost; if it took %i ms, the next one follows after %i ms',
	(took, gap) => {
		const schedule = new ScanSchedule(10_000)
		schedule.recordScan(0, 0, 300, false, 5_000)
		expect(schedule.since(699)).toBe(5_000)
		expect(schedule.limit(5_000, 2_000)).toBe(2_000)
		expect(schedule.since(700)).toBe(0)
		expect(schedule.limit(0, 2_000)).toBe(16)
		schedule.recordScan(0, 700, 700 + took, true, 5_000)
		expect(schedule.since(700 + took + gap - 1)).toBe(5_000)
		expect(schedule.since(700 + took + gap)).toBe(0)
		expect(schedule.limit(0, 2_000)).toBe(took > 20 ? 16 : 2_000)
	},
)

test('an expected message moves the next scan forward, never back', () => {
	const schedule = new ScanSchedule(1_000)
	schedule.recordScan(0, 0, 0, true, 0)
	schedule.expect(400)
	schedule.expect(800)
	schedule.expect(Infinity)
	expect(schedule.nextAt).toBe(400)
	schedule.nextAt = 600
	expect(schedule.nextAt).toBe(600)
	schedule.reset()
	expect(schedule.nextAt).toBe(-Infinity)
	expect(schedule.since(0)).toBe(0)
})

test('small full scans take at most 10 % of the time, and a scan is never more than pollMs away', () => {
	// Due times are milliseconds since 1970, so none is 0.
	const due = fc.integer({ min: 1, max: 1e6 })
	const scan = fc.record({ takes: fc.integer({ min: 0, max: 500 }), short: fc.boolean(), due })
	fc.assert(
		fc.property(fc.array(scan, { maxLength: 50 }), fc.integer({ min: 1, max: 5_000 }), (scans, pollMs) => {
			const schedule = new ScanSchedule(pollMs)
			let now = 0
			let full = { endedAt: 0, took: 0, isSmall: false }
			let latest = 0
			let position = 0
			for (const { takes, short, due } of scans) {
				const since = schedule.since(now)
				const startedAt = now
				const isSmall = schedule.limit(since, 2_000) === 16
				if (since !== 0) expect(since).toBe(position)
				else if (full.isSmall) expect(now - full.endedAt).toBeGreaterThanOrEqual(10 * full.took)
				else expect(now - full.endedAt).toBeGreaterThanOrEqual(20 * Math.min(full.took, 20))
				now += takes
				if (since === 0) full = { endedAt: now, took: takes, isSmall }
				const found = short ? due : Math.max(due, since + 1)
				latest = Math.max(latest, found)
				position = short ? latest : found
				schedule.recordScan(since, startedAt, now, short, found)
				expect(schedule.nextAt).toBeLessThanOrEqual(now + pollMs)
			}
		}),
	)
})

test('a full scan after a small one that took long is started by the caller, and other scans continue meanwhile', () => {
	const schedule = new ScanSchedule(10_000)
	schedule.recordScan(0, 0, 200, true, 5_000)
	// It claimed any number of messages. The next one is small.
	expect(schedule.startLongFullScan(600)).toBe(false)
	expect(schedule.since(600)).toBe(0)
	schedule.recordScan(0, 600, 800, true, 0)
	expect(schedule.startLongFullScan(2_799)).toBe(false)
	expect(schedule.startLongFullScan(2_800)).toBe(true)
	expect(schedule.startLongFullScan(2_800)).toBe(false)
	expect(schedule.since(2_801)).toBe(5_000)
	schedule.recordScan(5_000, 2_801, 2_802, true, 6_000)
	expect(schedule.nextAt).toBe(12_802)
	schedule.recordScan(0, 2_800, 3_000, true, 0)
	expect(schedule.since(3_001)).toBe(6_000)
	// Ten times the duration.
	expect(schedule.startLongFullScan(4_999)).toBe(false)
	expect(schedule.startLongFullScan(5_000)).toBe(true)
	schedule.recordScan(0, 5_000, 5_030, true, 0)
	expect(schedule.startLongFullScan(100_000)).toBe(false)
	expect(schedule.since(100_000)).toBe(0)
})

test('a full scan after a short one is one of the other scans', () => {
	const schedule = new ScanSchedule(10_000)
	expect(schedule.startLongFullScan(0)).toBe(false)
	schedule.recordScan(0, 0, 10, true, 5_000)
	expect(schedule.startLongFullScan(10_000)).toBe(false)
	expect(schedule.since(10_000)).toBe(0)
})
