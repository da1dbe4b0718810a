import { describe, expect, it } from 'vitest'
import { readRetryAfter } from '../../../src/http/headers/retry-headers.ts'
import { asctime, imfFixdate } from './dates.ts'

const NOW = Date.UTC(2026, 4, 15, 12)
const MINUTES = 60_000
const asked = (headers: Record<string, string>) => readRetryAfter(new Headers(headers), NOW)

describe('the wait that a response asks for', () => {
	it.each([
		['nothing', {}, undefined],
		['seconds', { 'retry-after': '3' }, 3_000],
		['milliseconds, as OpenAI and Azure send them', { 'retry-after-ms': '250' }, 250],
		['milliseconds with decimals', { 'retry-after-ms': '250.75' }, 250.75],
		['milliseconds under the older name of Azure', { 'x-ms-retry-after-ms': '40' }, 40],
		['no milliseconds at all', { 'retry-after-ms': '0', 'retry-after': '1' }, 0],
		[
			'milliseconds rather than the seconds they were rounded to',
			{ 'retry-after-ms': '250', 'retry-after': '1' },
			250,
		],
		['the first of two in milliseconds', { 'retry-after-ms': '250', 'x-ms-retry-after-ms': '40' }, 250],
		['the second when the first is malformed', { 'retry-after-ms': 'x', 'x-ms-retry-after-ms': '40' }, 40],
		['seconds when the milliseconds are negative', { 'retry-after-ms': '-5', 'retry-after': '1' }, 1_000],
		[
			'seconds when the milliseconds are no plain number',
			{ 'retry-after-ms': '1e3', 'retry-after': '1' },
			1_000,
		],
		['seconds when the milliseconds are empty', { 'retry-after-ms': '', 'retry-after': '1' }, 1_000],
		['nothing that can be read', { 'retry-after-ms': 'x', 'retry-after': 'soon' }, undefined],
		['a date', { 'retry-after': imfFixdate(NOW + 7_000) }, 7_000],
	])('is %s', (_, headers, expected) => {
		expect(asked(headers)).toBe(expected)
	})

	it.each([
		['five minutes fast', 5 * MINUTES],
		['five minutes slow', -5 * MINUTES],
		['right', 0],
	])(
		"the wait that a response asks for until a date is compared with the server's clock, if that is %s",
		(_, skew) => {
			const date = imfFixdate(NOW + skew)
			expect(asked({ date, 'retry-after': imfFixdate(NOW + skew + 9_000) })).toBe(9_000)
			expect(asked({ date, 'retry-after': asctime(NOW + skew - 9_000) })).toBe(0)
		},
	)

	it("the wait that a response asks for until a date is compared with our clock if the response's Date is malformed", () => {
		expect(asked({ date: 'yesterday', 'retry-after': imfFixdate(NOW + 9_000) })).toBe(9_000)
	})

	it('the wait that a response asks for in seconds does not depend on a clock', () => {
		expect(asked({ date: imfFixdate(0), 'retry-after': '9' })).toBe(9_000)
	})

	it('the wait that a response asks for in several lines is the longest', () => {
		const headers = new Headers()
		for (const line of ['5', '20', '10']) headers.append('retry-after', line)
		expect(readRetryAfter(headers, NOW)).toBe(20_000)
	})
})
