import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseHttpDate } from '../../../src/http/headers/http-date.ts'
import { asctime, imfFixdate, rfc850 } from './dates.ts'

const NOW = Date.UTC(2026, 4, 15, 12)
const SAMPLE = Date.UTC(1994, 10, 6, 8, 49, 37)
const YEAR_0 = Date.parse('0000-01-01T00:00:00Z')
const YEAR_9999 = Date.parse('9999-12-31T23:59:59Z')

const parse = (text: string, now = NOW) => parseHttpDate(text, now)
const seconds = (min: number, max: number) =>
	fc.integer({ min: min / 1_000, max: max / 1_000 }).map((second) => second * 1_000)

describe('an HTTP date', () => {
	it.each([
		'Sun, 06 Nov 1994 08:49:37 GMT',
		'Sunday, 06-Nov-94 08:49:37 GMT',
		'Sun Nov  6 08:49:37 1994',
		'Sun Nov 06 08:49:37 1994',
	])('is read in each of its forms: %s', (text) => {
		expect(parse(text)).toBe(SAMPLE)
	})

	it.each([
		['Fri, 31 Dec 1999 23:59:59 GMT', Date.UTC(1999, 11, 31, 23, 59, 59)],
		['Tue, 29 Feb 2000 00:00:00 GMT', Date.UTC(2000, 1, 29)],
		['Thu Feb 29 00:00:00 2024', Date.UTC(2024, 1, 29)],
		['Sat, 01 Jan 0000 00:00:00 GMT', YEAR_0],
		['Thu, 01 Jan 0099 00:00:00 GMT', Date.parse('0099-01-01T00:00:00Z')],
		['Fri, 31 Dec 9999 23:59:59 GMT', YEAR_9999],
	])('may be any day of four-digit years: %s', (text, expected) => {
		expect(parse(text)).toBe(expected)
	})

	it.each([
		['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
		['Saturday, 31-Dec-16 23:59:60 GMT', Date.UTC(2017, 0, 1)],
		['Sun Nov  6 08:49:60 1994', Date.UTC(1994, 10, 6, 8, 50)],
	])('an HTTP date in a leap second is the first second of the next minute: %s', (text, expected) => {
		expect(parse(text)).toBe(expected)
	})

	it('is accepted if only its day name is wrong', () => {
		expect(parse('Mon, 06 Nov 1994 08:49:37 GMT')).toBe(SAMPLE)
		expect(parse('Friday, 06-Nov-94 08:49:37 GMT')).toBe(SAMPLE)
		expect(parse('Wed Nov  6 08:49:37 1994')).toBe(SAMPLE)
	})
})

describe('an invalid date', () => {
	it.each([
		['a day that the month does not have', 'Sun, 31 Feb 2025 08:49:37 GMT'],
		['a 29th of February in a common year', 'Sun, 29 Feb 2023 08:49:37 GMT'],
		['one of a century that is no leap year', 'Sun, 29 Feb 2100 08:49:37 GMT'],
		['a 31st of April', 'Sun Apr 31 08:49:37 2024'],
		['day 0', 'Sun, 00 Nov 1994 08:49:37 GMT'],
		['day 0 in asctime', 'Sun Nov  0 08:49:37 1994'],
		['day 32', 'Sunday, 32-Jan-94 08:49:37 GMT'],
		['hour 24', 'Sun, 06 Nov 1994 24:00:00 GMT'],
		['minute 60', 'Sun, 06 Nov 1994 08:60:37 GMT'],
		['second 61', 'Sun, 06 Nov 1994 08:49:61 GMT'],
		['small letters', 'sun, 06 nov 1994 08:49:37 gmt'],
		['capital letters', 'SUN, 06 NOV 1994 08:49:37 GMT'],
		['another zone', 'Sun, 06 Nov 1994 08:49:37 UTC'],
		['an offset', 'Sun, 06 Nov 1994 08:49:37 +0000'],
		['no zone', 'Sun, 06 Nov 1994 08:49:37'],
		['a zone in asctime', 'Sun Nov  6 08:49:37 1994 GMT'],
		['a day name that is none', 'Xyz, 06 Nov 1994 08:49:37 GMT'],
		['no day name', '06 Nov 1994 08:49:37 GMT'],
		['a long day name in the first form', 'Sunday, 06 Nov 1994 08:49:37 GMT'],
		['a short day name in the second', 'Sun, 06-Nov-94 08:49:37 GMT'],
		['a month that is none', 'Sun, 06 Foo 1994 08:49:37 GMT'],
		['two halves of months', 'Sun, 06 anF 1994 08:49:37 GMT'],
		['a long month', 'Sun, 06 November 1994 08:49:37 GMT'],
		['a day of one digit', 'Sun, 6 Nov 1994 08:49:37 GMT'],
		['a day of one digit without its space', 'Sun Nov 6 08:49:37 1994'],
		['an hour of one digit', 'Sun, 06 Nov 1994 8:49:37 GMT'],
		['two digits of a year', 'Sun, 06 Nov 94 08:49:37 GMT'],
		['four digits of a year', 'Sunday, 06-Nov-1994 08:49:37 GMT'],
		['five digits of a year', 'Sun, 06 Nov 11994 08:49:37 GMT'],
		['two spaces', 'Sun,  06 Nov 1994 08:49:37 GMT'],
		['no space', 'Sun,06 Nov 1994 08:49:37 GMT'],
		['a space before', ' Sun, 06 Nov 1994 08:49:37 GMT'],
		['a line break after', 'Sun, 06 Nov 1994 08:49:37 GMT\n'],
		['digits of another script', 'Sun, 06 Nov ١٩٩٤ 08:49:37 GMT'],
		['ISO 8601', '1994-11-06T08:49:37Z'],
		['nothing', ''],
	])('is %s', (_, text) => {
		expect(parse(text)).toBeUndefined()
	})
})

describe('a year of two digits', () => {
	const at = (year: number, month = 0, day = 1) => Date.UTC(year, month, day)

	it.each([
		['this year', '01-Jan-26', NOW, at(2026)],
		['50 years ahead', '01-Jan-76', NOW, at(2076)],
		['more than 50 years ahead, so that it is past', '31-Dec-76', NOW, at(1976, 11, 31)],
		['51 years ahead', '01-Jan-77', NOW, at(1977)],
		['last year', '01-Jan-25', NOW, at(2025)],
		['tomorrow, though that is another century', '01-Jan-00', at(2099, 11, 31), at(2100)],
		['yesterday, though that was another century', '31-Dec-99', at(2100), at(2099, 11, 31)],
		['in the next century, within 50 years', '01-Jan-10', at(2090), at(2110)],
		['before 1970', '01-Jan-69', at(1970), at(1969)],
		[
			'in the first century',
			'01-Jan-05',
			Date.parse('0010-06-01T00:00:00Z'),
			Date.parse('0005-01-01T00:00:00Z'),
		],
	])('is %s', (_, date, now, expected) => {
		expect(parse(`Monday, ${date} 00:00:00 GMT`, now)).toBe(expected)
	})

	it('is decided before the day: 2100 has no 29th of February and is too far ahead, 2000 has one', () => {
		expect(parse('Tuesday, 29-Feb-00 00:00:00 GMT', at(2049))).toBe(at(2000, 1, 29))
		expect(parse('Tuesday, 29-Feb-00 00:00:00 GMT', at(2099))).toBeUndefined()
	})

	it('is undefined for an invalid clock', () => {
		for (const now of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e300])
			expect(parse('Sunday, 06-Nov-94 08:49:37 GMT', now)).toBeUndefined()
	})
})

describe('every second that can be written is read back', () => {
	const any = seconds(YEAR_0, YEAR_9999)

	it('every second that can be written is read back as IMF-fixdate and as asctime, from the year 0 to 9999', () => {
		fc.assert(
			fc.property(any, any, (time, now) => {
				expect(parse(imfFixdate(time), now)).toBe(time)
				expect(parse(asctime(time), now)).toBe(time)
			}),
		)
	})

	it('every second that can be written is read back as RFC 850, when it is less than 50 years from now', () => {
		const almost50Years = 18_250 * 86_400_000
		const away = seconds(-almost50Years, almost50Years)
		fc.assert(
			fc.property(seconds(Date.UTC(1900, 0), Date.UTC(2500, 0)), away, (now, distance) => {
				expect(parse(rfc850(now + distance), now)).toBe(now + distance)
			}),
		)
	})

	it('every second that can be written is read back as the same date in all three forms', () => {
		fc.assert(
			fc.property(seconds(Date.UTC(1977, 0), Date.UTC(2076, 0)), (time) => {
				expect([imfFixdate, rfc850, asctime].map((form) => parse(form(time)))).toEqual([time, time, time])
			}),
		)
	})
})
