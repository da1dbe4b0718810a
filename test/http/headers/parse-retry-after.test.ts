import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { parseRetryAfter } from '../../../src/http/headers/retry-headers.ts'
import { asctime, imfFixdate, rfc850 } from './dates.ts'

const NOW = Date.UTC(2026, 4, 15, 12)
const FORMS = [imfFixdate, rfc850, asctime]
const NAMED = FORMS.map((form) => [form.name, form] as const)
const parse = (value: Parameters<typeof parseRetryAfter>[0]) => parseRetryAfter(value, NOW)

describe('Retry-After in seconds', () => {
	it.each([
		['0', 0],
		['1', 1_000],
		['120', 120_000],
		['007', 7_000],
		[' 120', 120_000],
		['120\t ', 120_000],
		['86400', 86_400_000],
		['99999999999', 99_999_999_999_000],
	])('%j is a wait of %d ms, never capped', (value, expected) => {
		expect(parse(value)).toBe(expected)
	})

	it('Retry-After in seconds that exceeds exact numbers is Number.MAX_SAFE_INTEGER', () => {
		expect(parse('9'.repeat(20))).toBe(Number.MAX_SAFE_INTEGER)
		expect(parse('9'.repeat(5_000))).toBe(Number.MAX_SAFE_INTEGER)
	})
})

describe('Retry-After as a date', () => {
	it.each(NAMED)('is the time until then: %s', (_, form) => {
		expect(parse(form(NOW + 90_000))).toBe(90_000)
		expect(parse(` \t${form(NOW + 90_000)} `)).toBe(90_000)
	})

	it.each(NAMED)('is 0 when it has passed: %s', (_, form) => {
		expect(parse(form(NOW))).toBe(0)
		expect(parse(form(NOW - 1_000))).toBe(0)
		expect(parse(form(NOW - 400 * 86_400_000))).toBe(0)
	})

	it('is measured against the wall clock when no time is given', () => {
		vi.spyOn(Date, 'now').mockReturnValue(NOW)
		expect(parseRetryAfter(imfFixdate(NOW + 5_000))).toBe(5_000)
	})

	it('is undefined for an invalid clock', () => {
		expect(parseRetryAfter(imfFixdate(NOW), Number.NaN)).toBeUndefined()
		expect(parseRetryAfter('5', Number.NaN)).toBe(5_000)
	})
})

describe('several lines of Retry-After', () => {
	const soon = imfFixdate(NOW + 10_000)
	const later = rfc850(NOW + 30_000)
	const last = asctime(NOW + 50_000)

	it.each([
		['the greatest of numbers, joined', '5, 120, 60', 120_000],
		['the greatest of numbers, joined without a space', '5,120', 120_000],
		['the greatest of numbers, joined with blanks', '5 \t,\t 120', 120_000],
		['the greatest of numbers, in a list', ['5', '120', '60'], 120_000],
		['the greatest of a list of joined ones', ['5, 7', '6'], 7_000],
		['the latest of dates, joined', [soon, later, last].join(', '), 50_000],
		['the latest of dates, in another order', [last, later, soon].join(', '), 50_000],
		['the latest of dates that hold a comma', [later, soon].join(','), 30_000],
		['the latest of dates, in a list', [soon, later], 30_000],
		['0 when all dates have passed', [imfFixdate(NOW - 9_000), asctime(NOW - 5_000)], 0],
	])('ask for %s', (_, value, expected) => {
		expect(parse(value)).toBe(expected)
	})

	it.each([
		['a number and a date', `120, ${soon}`],
		['a date and a number', `${last}, 120`],
		['a number and a date, in a list', ['120', later]],
		['one that is malformed', '120, soon'],
		['one that is empty', '120, '],
		['one that is empty, in a list', ['120', '']],
		['a date that is cut in two', soon.split(', ')],
		['none', []],
	])('are invalid with %s', (_, value) => {
		expect(parse(value)).toBeUndefined()
	})
})

describe('an invalid Retry-After', () => {
	it.each([
		null,
		undefined,
		'',
		' ',
		',',
		', ,',
		'-1',
		'+5',
		'-0',
		'1e3',
		'0x10',
		'0b1',
		'1.5',
		'1.',
		'.5',
		'1_000',
		'1 000',
		'Infinity',
		'NaN',
		'null',
		'true',
		'5s',
		'120;foo',
		'"120"',
		'１２０',
		'١٢٠',
		'\u00a0120',
		'120\n',
		'\v120',
		'2026-05-15T12:00:00Z',
		'Sun, 31 Feb 2025 08:49:37 GMT',
		'Sun, 06 Nov 1994',
		'Sun',
		'Sun,',
		'tomorrow',
	])('is ignored: %j', (value) => {
		expect(parse(value)).toBeUndefined()
	})

	it('is ignored if it is not a string', () => {
		for (const value of [120, true, {}, [120], [null], [['5']]])
			expect(Reflect.apply(parseRetryAfter, undefined, [value, NOW])).toBeUndefined()
	})
})

describe('for any header value', () => {
	const piece = fc.oneof(
		fc.string(),
		fc.string({ unit: 'binary' }),
		fc.constantFrom(',', ' ', '\t', 'Sun', 'Sunday', 'GMT', '-', '1', '08:49:60'),
		fc.nat().map(String),
		fc
			.tuple(fc.constantFrom(...FORMS), fc.date({ noInvalidDate: true }))
			.map(([form, date]) => form(date.getTime())),
	)
	const value = fc.oneof(
		piece,
		fc.array(piece),
		fc.array(piece).map((pieces) => pieces.join(', ')),
		fc.array(piece).map((pieces) => pieces.join('')),
	)
	const clock = fc.oneof(fc.double(), fc.integer(), fc.constant(NOW))

	it('the result is undefined or a finite wait of 0 or more', () => {
		fc.assert(
			fc.property(value, clock, (sent, now) => {
				const wait = parseRetryAfter(sent, now)
				expect(wait === undefined || (Number.isFinite(wait) && wait >= 0)).toBe(true)
			}),
			{ numRuns: 2_000 },
		)
	})

	it('the wait of several numbers is that of the greatest, however they are sent', () => {
		fc.assert(
			fc.property(fc.array(fc.nat(), { minLength: 1 }), (numbers) => {
				const lines = numbers.map(String)
				const greatest = Math.max(...numbers) * 1_000
				expect([parse(lines), parse(lines.join(', ')), parse(lines.join(','))]).toEqual([
					greatest,
					greatest,
					greatest,
				])
			}),
		)
	})

	it('the wait of several dates is that of the latest, in any mixture of forms', () => {
		const ahead = fc.tuple(fc.constantFrom(...FORMS), fc.integer({ min: -1e9, max: 1e9 }))
		fc.assert(
			fc.property(fc.array(ahead, { minLength: 1 }), (dates) => {
				const latest = Math.max(0, ...dates.map(([, seconds]) => seconds * 1_000))
				const lines = dates.map(([form, seconds]) => form(NOW + seconds * 1_000))
				expect([parse(lines), parse(lines.join(', '))]).toEqual([latest, latest])
			}),
		)
	})
})
