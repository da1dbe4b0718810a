import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Deadline } from 'yaoki'
import { parseRetryAfter } from 'yaoki/http'
import type { HeaderLookup } from '../../../src/core/headers/header-values.ts'
import { acceptsCached, isStorable, varyNames } from '../../../src/http/cache/cacheability.ts'
import { RECEIVED_DEADLINES, readDeadline } from '../../../src/http/headers/deadline-headers.ts'
import { parseHttpDate } from '../../../src/http/headers/http-date.ts'
import { readQuota } from '../../../src/http/headers/rate-limit-headers.ts'
import {
	areRetriesExhausted,
	readAttempt,
	readCallerRetry,
	readRetryAfter,
} from '../../../src/http/headers/retry-headers.ts'
import { stepsOf } from '../../support/counted-steps.ts'

/** The greatest header that Node accepts. */
const SIZE = 16_384
/** Steps per character: the longest pattern of a header has eight alternatives, and a list is read as a dictionary too. */
const STEPS_PER_CHARACTER = 64

type Reader = (text: string, other: string) => unknown

/** Every header has the first text, or those with this prefix the second. */
const headersOf = (text: string, other = text, prefix = ''): HeaderLookup => ({
	get: (name) => (prefix !== '' && name.startsWith(prefix) ? other : text),
})

const only = (names: Record<string, string>): HeaderLookup => ({ get: (name) => names[name] })

const withHeaders = (text: string) => ({ method: 'GET', url: '', headers: { get: () => text } })

const READERS: Readonly<Record<string, Reader>> = {
	...Object.fromEntries(
		[...RECEIVED_DEADLINES, 'x-envoy-upstream-rq-timeout-ms' as const].map((name): [string, Reader] => [
			name,
			(text) => readDeadline(headersOf(text), [name]),
		]),
	),
	'Deadline.fromHeader': (text) => Deadline.fromHeader(text),
	'Retry-After': (text) => parseRetryAfter(text, 0),
	'Retry-After and Date': (text, other) => readRetryAfter(headersOf(text, other, 'date'), 0),
	Date: (text) => parseHttpDate(text, 0),
	'RateLimit and RateLimit-Policy': (text, other) => readQuota(headersOf(text, other, 'ratelimit-policy'), 0),
	'RateLimit-Remaining and RateLimit-Limit': (text, other) =>
		readQuota(
			only({
				'ratelimit-remaining': '1',
				'ratelimit-reset': '1',
				'ratelimit-limit': text,
				'ratelimit-policy': other,
			}),
			0,
		),
	'RateLimit-Reset': (text) =>
		readQuota(only({ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': text }), 0),
	'X-RateLimit-Remaining': (text) => readQuota(only({ 'x-ratelimit-remaining': text }), 0),
	'x-retry-attempt': (text) => readAttempt(headersOf(text)),
	'x-retry-layer': (text) => readCallerRetry(headersOf(text)),
	'x-retries-exhausted': (text) => areRetriesExhausted(headersOf(text)),
	'Cache-Control of a request': (text) => acceptsCached(withHeaders(text)),
	'Cache-Control of a response': (text) =>
		isStorable(withHeaders(''), { status: 200, headers: new Headers({ 'cache-control': text }) }),
	Vary: (text) => varyNames(new Headers({ vary: text })),
}

const fragments = fc.constantFrom(
	...[
		' ',
		'\t',
		',',
		', ',
		';',
		'=',
		'"',
		'\\',
		'a',
		'0',
		'1',
		'.',
		':',
		'-',
		'%"',
		'?1',
		'@1',
		':a',
		'h',
		'm',
		's',
		'*',
		'\u00e4',
	],
	...[
		'GMT',
		'Sun, 06 Nov 1994 08:49:37 GMT',
		'Sun',
		'"a";r=1;t=1',
		'"a"',
		'"b";q=1;w=1',
		'a=1',
		'100;w=60',
		'limit=1',
		'no-',
		'no-store',
	],
)
const joined = (max: number) => fc.array(fragments, { maxLength: max }).map((parts) => parts.join(''))

/** A text of the greatest size: a beginning, one part repeated, an end. */
const headerTexts = fc.tuple(joined(3), joined(4), joined(3)).map(([start, part, end]) => {
	const repeated = part === '' ? ' ' : part
	const room = SIZE - start.length - end.length
	return start + repeated.repeat(Math.ceil(room / repeated.length)).slice(0, room) + end
})

describe.each(Object.entries(READERS))('%s', (_, read) => {
	test('is read in linear time, whatever a header of 16 kB contains', () => {
		fc.assert(
			fc.property(headerTexts, headerTexts, (text, other) => {
				expect(stepsOf(() => read(text, other))).toBeLessThan(STEPS_PER_CHARACTER * 2 * SIZE)
			}),
			{ numRuns: 12 },
		)
	})
})

test('a deadline header of 16 kB of spaces is read in linear time', () => {
	const text = `1${' '.repeat(SIZE - 2)}2`
	expect(stepsOf(() => readDeadline(headersOf(text), ['x-request-timeout-ms']))).toBeLessThan(4 * SIZE)
})

test('1,000 limits are matched with 1,000 policies in linear time', () => {
	const list = (name: string) => Array.from({ length: 1_000 }, () => `"${name}";r=1;t=1`).join(', ')
	const headers = only({ ratelimit: list('a'), 'ratelimit-policy': list('b') })
	expect(stepsOf(() => readQuota(headers, 0))).toBeLessThan(STEPS_PER_CHARACTER * list('a').length)
})

test('the count of steps is quadratic for a pattern that takes quadratic time', () => {
	const trim = (size: number) => stepsOf(() => `1${' '.repeat(size)}2`.replace(/^[ \t]+|[ \t]+$/g, ''))
	expect(trim(2_000) / trim(1_000)).toBeGreaterThan(3.5)
})
