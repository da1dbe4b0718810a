import { describe, expect, it } from 'vitest'
import { readQuota } from '../../../src/http/headers/rate-limit-headers.ts'

const read = (rateLimit: string, policy?: string) =>
	readQuota(
		new Headers({ RateLimit: rateLimit, ...(policy === undefined ? {} : { 'RateLimit-Policy': policy }) }),
		0,
	)

describe('the RateLimit field', () => {
	it.each([
		['alone', '"default";r=50;t=30', undefined, { remaining: 50, resetMs: 30_000 }],
		[
			'with its policy',
			'"default";r=50;t=30',
			'"default";q=100;w=60',
			{ remaining: 50, resetMs: 30_000, limit: 100, windowMs: 60_000 },
		],
		[
			'with blanks, as express-rate-limit writes it',
			'"d"; r=9; t=3',
			'"d"; q=10; w=5; pk=:ZA==:',
			{ remaining: 9, resetMs: 3_000, limit: 10, windowMs: 5_000 },
		],
		[
			'with a token for a name',
			'default;r=50;t=30',
			'default;q=100',
			{ remaining: 50, resetMs: 30_000, limit: 100 },
		],
		['with a policy of another name', '"a";r=1;t=2', '"b";q=10;w=5', { remaining: 1, resetMs: 2_000 }],
		[
			'with parameters of its own',
			'"a";acme-burst=1.5;r=1;t=2;pk=:cHsdsRa894==:',
			undefined,
			{ remaining: 1, resetMs: 2_000 },
		],
		['with nothing left', '"a";r=0;t=0', undefined, { remaining: 0, resetMs: 0 }],
		[
			'with the unit named',
			'"a";r=1;t=2',
			'"a";q=10;qu="requests"',
			{ remaining: 1, resetMs: 2_000, limit: 10 },
		],
		[
			'as a dictionary',
			'limit=100, remaining=50, reset=5',
			undefined,
			{ remaining: 50, resetMs: 5_000, limit: 100 },
		],
		[
			'as a dictionary with policies',
			'limit=10, remaining=5, reset=1',
			'1000;w=3600, 10;w=1',
			{ remaining: 5, resetMs: 1_000, limit: 10, windowMs: 1_000 },
		],
		['as a dictionary without a limit', 'remaining=5, reset=1', '10;w=1', { remaining: 5, resetMs: 1_000 }],
	])('is read %s', (_, rateLimit, policy, expected) => {
		expect(read(rateLimit, policy)).toEqual(expected)
	})

	it.each([
		['with the least remaining', '"a";r=5;t=9, "b";r=3;t=1, "c";r=4;t=99', { remaining: 3, resetMs: 1_000 }],
		[
			'with the longest reset, of equals',
			'"a";r=3;t=1, "b";r=3;t=9, "c";r=3;t=5',
			{ remaining: 3, resetMs: 9_000 },
		],
		['that says when it resets', '"a";r=1, "b";r=7;t=2', { remaining: 7, resetMs: 2_000 }],
	])('returns of several policies the one %s', (_, rateLimit, expected) => {
		expect(read(rateLimit)).toEqual(expected)
	})

	it('returns the limit of the strictest policy, in any order', () => {
		const policy = '"perhr";q=1000;w=3600,"permin";q=50;w=60'
		expect(read('"permin";r=4;t=30, "perhr";r=900;t=1800', policy)).toEqual({
			remaining: 4,
			resetMs: 30_000,
			limit: 50,
			windowMs: 60_000,
		})
		expect(read('"permin";r=40;t=30, "perhr";r=9;t=1800', policy)).toEqual({
			remaining: 9,
			resetMs: 1_800_000,
			limit: 1_000,
			windowMs: 3_600_000,
		})
	})

	it('skips policies that do not count requests', () => {
		const policy =
			'"bytes";q=65535;qu="content-bytes";w=10, "calls";q=100;w=60, "open";q=5;qu="concurrent-requests"'
		expect(read('"bytes";r=0;t=10, "calls";r=8;t=50, "open";r=0;t=1', policy)).toEqual({
			remaining: 8,
			resetMs: 50_000,
			limit: 100,
			windowMs: 60_000,
		})
		expect(read('"bytes";r=0;t=10', policy)).toBeUndefined()
	})

	it('is one list when it comes in several lines', () => {
		const headers = new Headers()
		headers.append('ratelimit', '"a";r=5;t=9')
		headers.append('ratelimit', '"b";r=3;t=1')
		expect(readQuota(headers, 0)).toEqual({ remaining: 3, resetMs: 1_000 })
	})

	it.each([
		['empty', ''],
		['without what remains', '"a";t=30'],
		['without a reset', '"a";r=50'],
		['with a negative rest', '"a";r=-1;t=30'],
		['with a rest of decimals', '"a";r=1.0;t=30'],
		['with a rest in quotes', '"a";r="1";t=30'],
		['with a negative reset', '"a";r=1;t=-30'],
		['with a reset of decimals', '"a";r=1;t=0.5'],
		['with a number for a name', '7;r=1;t=30'],
		['with bytes for a name', ':YQ==:;r=1;t=30'],
		['with one malformed item of two', '"a";r=1;t=30, "b";r=x;t=30'],
		['with a malformed item that would be passed over', '"a";r=1;t=30, "b";t=30'],
		['with a trailing comma', '"a";r=1;t=30,'],
		['as half a dictionary', 'remaining=50'],
		['as a dictionary of words', 'limit=100, remaining=many, reset=5'],
		['as a dictionary with a malformed limit', 'limit=-1, remaining=1, reset=5'],
	])('is ignored %s', (_, rateLimit) => {
		expect(read(rateLimit)).toBeUndefined()
	})

	it.each([
		'',
		'"a"',
		'"a";w=60',
		'"a";q=-1',
		'"a";q=1.5',
		'"a";q=10;w=0',
		'"a";q=10;w=-1',
		'"a";q=10;w="60"',
		'"a";q=10,',
		'a b',
	])('is ignored with a malformed policy: %j', (policy) => {
		expect(read('"a";r=1;t=30', policy)).toBeUndefined()
	})
})
