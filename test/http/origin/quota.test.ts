import { describe, expect, it } from 'vitest'
import type { QuotaReport } from '../../../src/http/headers/rate-limit-headers.ts'
import { Quota } from '../../../src/http/origin/quota.ts'

const WINDOW = { limit: 10, windowMs: 60_000 }

/** A quota with a report at time 0, with nothing else in flight. */
function quotaWith(report: QuotaReport, inFlight = 0): Quota {
	const quota = new Quota()
	quota.report(0, report, inFlight)
	return quota
}

/** The number of requests that may be sent now. */
function goesNow(quota: Quota, now: number, most = 1_000): number {
	let count = 0
	for (; count < most && quota.waitMs(now) === 0; count++) quota.spend(now)
	return count
}

describe('an unknown quota', () => {
	it('delays no request', () => {
		expect(goesNow(new Quota(), 0)).toBe(1_000)
	})
})

describe('within a window', () => {
	it('as many requests as reported are sent, and the others wait until the reset', () => {
		const quota = quotaWith({ remaining: 3, resetMs: 30_000 })
		expect(goesNow(quota, 1_000)).toBe(3)
		expect([quota.waitMs(1_000), quota.waitMs(29_999.5)]).toEqual([29_000, 0.5])
	})

	it('requests in flight are subtracted, because the server may not have counted them', () => {
		expect(goesNow(quotaWith({ remaining: 5, resetMs: 30_000 }, 3), 0)).toBe(2)
		expect(goesNow(quotaWith({ remaining: 5, resetMs: 30_000 }, 9), 0)).toBe(0)
	})

	it('requests after the report are subtracted until the next report', () => {
		const quota = quotaWith({ remaining: 5, resetMs: 30_000 })
		for (let i = 0; i < 3; i++) quota.spend(10)
		quota.report(100, { remaining: 4, resetMs: 29_900 }, 2)
		expect(goesNow(quota, 100)).toBe(2)
	})

	it('an outdated response does not increase the remaining quota', () => {
		const quota = quotaWith({ remaining: 2, resetMs: 30_000 })
		for (const remaining of [9, 5, 3]) quota.report(50, { remaining, resetMs: 29_950 }, 0)
		expect(goesNow(quota, 50)).toBe(2)
	})

	it('an outdated report shows that its own request was counted', () => {
		// Six concurrent requests were all counted. The last one's response arrives first.
		const quota = quotaWith({ remaining: 4, resetMs: 30_000 }, 5)
		expect(quota.waitMs(0)).toBe(30_000)
		quota.report(1, { remaining: 8, resetMs: 29_999 }, 4)
		quota.report(2, { remaining: 5, resetMs: 29_998 }, 3)
		expect(goesNow(quota, 2)).toBe(1)
	})

	it('sixty concurrent requests of a hundred leave forty, in any order of responses', () => {
		const quota = quotaWith({ remaining: 100, resetMs: 60_000 })
		for (let i = 0; i < 60; i++) quota.spend(0)
		for (let i = 0; i < 60; i++) {
			const place = (i * 37) % 60
			quota.report(100 + i, { remaining: 99 - place, resetMs: 60_000 - 100 - i }, 59 - i)
		}
		expect(goesNow(quota, 200)).toBe(40)
	})

	it('a lower value than expected is accepted, because others use the quota too', () => {
		const quota = quotaWith({ remaining: 50, resetMs: 30_000 })
		quota.report(1_000, { remaining: 1, resetMs: 29_000 }, 0)
		expect(goesNow(quota, 1_000)).toBe(1)
	})

	it('resets that differ by rounding are the same, and the later one counts', () => {
		const quota = quotaWith({ remaining: 1, resetMs: 30_000, ...WINDOW })
		quota.report(100, { remaining: 0, resetMs: 30_000, ...WINDOW }, 0)
		quota.report(900, { remaining: 9, resetMs: 30_000, ...WINDOW }, 0)
		expect(quota.waitMs(1_000)).toBe(29_100)
		quota.report(1_500, { remaining: 0, resetMs: 28_000, ...WINDOW }, 0)
		expect(quota.waitMs(1_500)).toBe(28_600)
	})

	it('a reset that is corrected to an earlier time is accepted', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 50_000, ...WINDOW })
		quota.report(10, { remaining: 0, resetMs: 20_000, ...WINDOW }, 0)
		expect(quota.waitMs(10)).toBe(20_000)
	})

	it('a slow response that seems to report a later reset is corrected by the next one', () => {
		const quota = quotaWith({ remaining: 3, resetMs: 30_000, ...WINDOW })
		// Its 30 seconds were true ten seconds ago.
		quota.report(10_000, { remaining: 8, resetMs: 30_000, ...WINDOW }, 0)
		quota.report(10_001, { remaining: 0, resetMs: 19_999, ...WINDOW }, 0)
		expect(quota.waitMs(10_001)).toBe(19_999)
	})

	it('a later window replaces the current one, also before that has ended by our clock', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, ...WINDOW })
		quota.report(900, { remaining: 9, resetMs: 60_000, ...WINDOW }, 2)
		expect(goesNow(quota, 900)).toBe(7)
		expect(quota.waitMs(900)).toBe(60_000)
	})

	it('a late response of the previous window changes nothing', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, ...WINDOW })
		quota.report(900, { remaining: 9, resetMs: 60_000, ...WINDOW }, 0)
		quota.report(950, { remaining: 0, resetMs: 60, ...WINDOW }, 0)
		expect(goesNow(quota, 950)).toBe(9)
	})
})

describe('at the reset', () => {
	it('a quota with an unknown limit is free', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, windowMs: 1_000 })
		expect([quota.waitMs(999), quota.waitMs(1_000)]).toEqual([1, 0])
		expect(goesNow(quota, 1_000)).toBe(1_000)
	})

	it('the quota becomes the limit, and the next reset is a window later', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, ...WINDOW })
		expect(goesNow(quota, 1_000)).toBe(10)
		expect(quota.waitMs(1_000)).toBe(60_000)
	})

	it('after a long pause a window starts with the first request', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, ...WINDOW })
		expect(goesNow(quota, 3_600_500)).toBe(10)
		expect(quota.waitMs(3_600_500)).toBe(60_000)
	})

	it('a window of unknown length is as long as the longest reset', () => {
		const quota = quotaWith({ remaining: 5, resetMs: 40_000, limit: 10 })
		quota.report(30_000, { remaining: 0, resetMs: 10_000, limit: 10 }, 0)
		expect(goesNow(quota, 40_000)).toBe(10)
		expect(quota.waitMs(40_000)).toBe(40_000)
	})

	it('requests in flight are subtracted from the new window', () => {
		const quota = quotaWith({ remaining: 4, resetMs: 1_000, ...WINDOW })
		for (let i = 0; i < 4; i++) quota.spend(990)
		expect(goesNow(quota, 1_000)).toBe(6)
	})

	it('requests in flight count until a late response shows that the old window counted them', () => {
		const quota = quotaWith({ remaining: 4, resetMs: 1_000, ...WINDOW })
		for (let i = 0; i < 4; i++) quota.spend(900)
		expect(goesNow(quota, 1_000)).toBe(6)
		quota.report(1_010, { remaining: 3, resetMs: 5, ...WINDOW }, 9)
		quota.report(1_010, { remaining: 0, resetMs: 2, ...WINDOW }, 8)
		expect(goesNow(quota, 1_010)).toBe(2)
		for (let i = 0; i < 9; i++) quota.report(1_020, { remaining: 0, resetMs: 2, ...WINDOW }, 0)
		expect(goesNow(quota, 1_020)).toBe(2)
	})

	it('lost responses do not block it permanently', () => {
		const quota = quotaWith({ remaining: 1, resetMs: 1_000, limit: 1, windowMs: 1_000 })
		expect([0, 1_000, 2_000, 3_000, 4_000].map((now) => goesNow(quota, now))).toEqual([1, 0, 1, 0, 1])
	})

	it('a limit of 0 does not block it permanently', () => {
		const quota = quotaWith({ remaining: 0, resetMs: 1_000, limit: 0, windowMs: 1_000 })
		expect([quota.waitMs(0), quota.waitMs(1_000)]).toEqual([1_000, 0])
	})

	it('a reset of 0 delays no request', () => {
		expect(quotaWith({ remaining: 0, resetMs: 0 }).waitMs(0)).toBe(0)
		expect(quotaWith({ remaining: 0, resetMs: 0, limit: 5 }).waitMs(0)).toBe(0)
	})
})

it('waits at most an hour for a distant reset', () => {
	expect(quotaWith({ remaining: 0, resetMs: 1e15 }).waitMs(5)).toBe(3_600_000 - 5)
})

it('waitMs changes nothing', () => {
	const quota = quotaWith({ remaining: 2, resetMs: 1_000, ...WINDOW })
	for (let i = 0; i < 100; i++) expect(quota.waitMs(i)).toBe(0)
	expect(goesNow(quota, 100)).toBe(2)
})
