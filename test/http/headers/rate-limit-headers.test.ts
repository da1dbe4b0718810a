import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readQuota } from '../../../src/http/headers/rate-limit-headers.ts'
import { imfFixdate } from './dates.ts'

const NOW = Date.UTC(2026, 4, 15, 12)
const SECONDS = NOW / 1_000
const read = (headers: Record<string, string>) => readQuota(new Headers(headers), NOW)

/** The headers of a family: remaining, reset and limit. */
const family = (prefix: string, remaining: string, reset: string, limit?: string, suffix = '') => ({
	[`${prefix}-remaining${suffix}`]: remaining,
	[`${prefix}-reset${suffix}`]: reset,
	...(limit === undefined ? {} : { [`${prefix}-limit${suffix}`]: limit }),
})
const FAMILIES = [
	['ratelimit', ''],
	['x-ratelimit', ''],
	['x-rate-limit', ''],
	['x-ratelimit', '-requests'],
] as const

describe.each(FAMILIES)('the headers %s-...%s', (prefix, suffix) => {
	const parsed = (remaining: string, reset: string, limit?: string) =>
		read(family(prefix, remaining, reset, limit, suffix))

	it.each([
		['seconds from now', '30', 30_000],
		['a part of a second', '0.25', 250],
		['now', '0', 0],
		['seconds since 1970', String(SECONDS + 90), 90_000],
		['seconds since 1970 with decimals', `${SECONDS + 90}.500`, 90_500],
		['milliseconds since 1970', String(NOW + 1_234), 1_234],
		['a time that has passed', String(SECONDS - 90), 0],
		['a duration', '6m0s', 360_000],
		['a duration of hours', '1h2m3s', 3_723_000],
		['a duration with decimals', '2m59.5s', 179_500],
		['a duration of milliseconds', '120ms', 120],
		['a duration of seconds and milliseconds', '1s500ms', 1_500],
		['a duration of one minute', '1m', 60_000],
	])('report the reset as %s', (_, reset, resetMs) => {
		expect(parsed('7', reset)).toEqual({ remaining: 7, resetMs })
		expect(parsed('7', reset, '100')).toEqual({ remaining: 7, resetMs, limit: 100 })
	})

	it('can contain decimals', () => {
		expect(parsed('594.0', '30')).toEqual({ remaining: 594, resetMs: 30_000 })
		expect(parsed('0.9', '30')).toEqual({ remaining: 0, resetMs: 30_000 })
	})

	it('can have policies after the limit, as with Envoy', () => {
		const report = { remaining: 7, resetMs: 1_000, limit: 10 }
		expect(parsed('7', '1', '10, 10;w=1;name="a", 1000;w=3600')).toEqual({ ...report, windowMs: 1_000 })
		expect(parsed('7', '1', '10, 1000;w=3600')).toEqual(report)
		expect(parsed('7', '1', '10;w=60')).toEqual({ ...report, windowMs: 60_000 })
	})

	it.each([
		['nothing remaining', '', '30', '100'],
		['-1 remaining, as Azure sends when it does not know', '-1', '0', '-1'],
		['words', 'many', '30', '100'],
		['two values', '5, 5', '30', '100'],
		['an exponent', '1e3', '30', '100'],
		['more digits than a number holds', '9'.repeat(400), '30', '100'],
		['an empty reset', '5', '', '100'],
		['a negative reset', '5', '-3', '100'],
		['a reset in words', '5', 'soon', '100'],
		['a date for a reset', '5', 'Sun, 06 Nov 1994 08:49:37 GMT', '100'],
		['a duration out of order', '5', '3s6m', '100'],
		['a duration of nothing', '5', 'ms', '100'],
		['a duration of another unit', '5', '3w', '100'],
		['a duration with a sign', '5', '-3s', '100'],
		['a reset that no number holds', '5', '9'.repeat(400), '100'],
		['an empty limit', '5', '30', ''],
		['a limit in words', '5', '30', '100/hour'],
		['a negative limit', '5', '30', '-1'],
		['a malformed policy', '5', '30', '10, 10;w=0'],
	])('are ignored with %s', (_, remaining, reset, limit) => {
		expect(parsed(remaining, reset, limit)).toBeUndefined()
	})

	it('are ignored without a reset', () => {
		expect(
			read({ [`${prefix}-remaining${suffix}`]: '5', [`${prefix}-limit${suffix}`]: '10' }),
		).toBeUndefined()
	})

	it("compare a reset since 1970 with the server's clock", () => {
		const skewed = NOW + 300_000
		const headers = {
			...family(prefix, '5', String(skewed / 1_000 + 20), undefined, suffix),
			date: imfFixdate(skewed),
		}
		expect(read(headers)).toEqual({ remaining: 5, resetMs: 20_000 })
		expect(read({ ...headers, date: 'never' })).toEqual({ remaining: 5, resetMs: 320_000 })
	})
})

describe('of several headers', () => {
	it('the older draft can have a policy header', () => {
		const headers = family('ratelimit', '5', '30', '100')
		const report = { remaining: 5, resetMs: 30_000, limit: 100 }
		expect(read({ ...headers, 'ratelimit-policy': '1000;w=3600, 100;w=60' })).toEqual({
			...report,
			windowMs: 60_000,
		})
		expect(read({ ...headers, 'ratelimit-policy': '1000;w=3600' })).toEqual(report)
		expect(read({ ...headers, 'ratelimit-policy': '100;' })).toBeUndefined()
	})

	it('a reset duration is preferred to a reset time', () => {
		expect(
			read({ ...family('x-ratelimit', '5', String(SECONDS + 99)), 'x-ratelimit-reset-after': '1.5' }),
		).toEqual({ remaining: 5, resetMs: 1_500 })
		expect(read({ 'x-ratelimit-remaining': '5', 'x-ratelimit-reset-after': '1.5' })).toEqual({
			remaining: 5,
			resetMs: 1_500,
		})
	})

	it('the newest form decides', () => {
		const every = FAMILIES.flatMap(([prefix, suffix], at) =>
			Object.entries(family(prefix, String(at), '1', undefined, suffix)),
		)
		const all: Record<string, string> = Object.fromEntries(every)
		expect(read({ ratelimit: '"a";r=50;t=1', ...all })?.remaining).toBe(50)
		for (const [at, [prefix, suffix]] of FAMILIES.entries()) {
			expect(read(all)?.remaining).toBe(at)
			delete all[`${prefix}-remaining${suffix}`]
		}
		expect(read(all)).toBeUndefined()
	})

	it('a malformed family is not replaced by another one', () => {
		expect(read({ ratelimit: 'x', ...family('x-ratelimit', '5', '30') })).toBeUndefined()
	})
})

describe('a response without quota headers', () => {
	it('has no report', () => {
		expect(read({})).toBeUndefined()
		expect(
			read({
				'content-type': 'text/html',
				'retry-after': '5',
				'ratelimit-limit': '5',
				'x-ratelimit-limit': '5',
			}),
		).toBeUndefined()
	})

	it('costs five lookups', () => {
		const asked: string[] = []
		const get = (name: string) => {
			asked.push(name)
			return null
		}
		expect(readQuota({ get }, NOW)).toBeUndefined()
		expect(asked).toHaveLength(5)
	})
})

it('for any headers, a report consists of finite non-negative integers', () => {
	const text = fc.oneof(
		fc.string(),
		fc.nat().map(String),
		fc.double().map(String),
		fc.bigInt({ min: 0n }).map(String),
		fc.constantFrom('"a";r=1;t=1', '"a";q=1;w=1', '6m0s', '1;w=1', 'limit=1, remaining=1, reset=1'),
	)
	const name = fc.constantFrom(
		'ratelimit',
		'ratelimit-policy',
		'x-ratelimit-reset-after',
		'date',
		...FAMILIES.flatMap(([prefix, suffix]) => Object.keys(family(prefix, '', '', '', suffix))),
	)
	fc.assert(
		fc.property(fc.dictionary(name, text), (headers) => {
			const report = readQuota({ get: (asked) => headers[asked] ?? null }, NOW)
			if (report === undefined) return
			const { remaining, resetMs, limit = 0, windowMs = 1 } = report
			expect(Number.isInteger(remaining) && remaining >= 0).toBe(true)
			expect(Number.isFinite(resetMs) && resetMs >= 0).toBe(true)
			expect(Number.isInteger(limit) && limit >= 0).toBe(true)
			expect(Number.isFinite(windowMs) && windowMs > 0).toBe(true)
		}),
		{ numRuns: 2_000 },
	)
})
