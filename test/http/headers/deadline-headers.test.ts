import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
	type DeadlineHeader,
	isDeadlineHeader,
	RECEIVED_DEADLINES,
	readDeadline,
	writeDeadline,
} from '../../../src/http/headers/deadline-headers.ts'

const ALL: readonly DeadlineHeader[] = [...RECEIVED_DEADLINES, 'x-envoy-upstream-rq-timeout-ms']

const read = (header: DeadlineHeader, value: string) => readDeadline(new Map([[header, value]]), [header])

describe('writes the remaining time', () => {
	test.each<[DeadlineHeader, number, string]>([
		['x-request-timeout-ms', 1_500.9, '1500'],
		['x-request-timeout-ms', 0.9, '0'],
		['x-request-timeout-ms', 1e300, '999999999999999'],
		['x-envoy-expected-rq-timeout-ms', 250, '250'],
		['connect-timeout-ms', 250.5, '250'],
		['connect-timeout-ms', 1e12, '9999999999'],
		['grpc-timeout', 0.2, '0m'],
		['grpc-timeout', 1_500.7, '1500m'],
		['grpc-timeout', 99_999_999.9, '99999999m'],
		['grpc-timeout', 100_000_999, '100000S'],
		['grpc-timeout', 100_000_000_000, '1666666M'],
		['grpc-timeout', 6_000_000_000_000, '1666666H'],
		['grpc-timeout', 1e300, '99999999H'],
	])('%s: %d ms as %s', (header, ms, text) => {
		expect(writeDeadline(header, ms)).toBe(text)
	})

	test('writes an expired deadline to Envoy as 1, because 0 means no timeout', () => {
		expect(writeDeadline('x-envoy-upstream-rq-timeout-ms', 0.4)).toBe('1')
		expect(read('x-envoy-upstream-rq-timeout-ms', '0')).toBeUndefined()
	})

	test.each([-1, Number.NaN, Infinity])('rejects %d ms', (ms) => {
		expect(() => writeDeadline('grpc-timeout', ms)).toThrow(/Invalid argument "remainingMs": expected .*/)
	})
})

describe('reads the remaining time', () => {
	test.each<[DeadlineHeader, string, number]>([
		['x-request-timeout-ms', '0', 0],
		['x-request-timeout-ms', ' \t250 ', 250],
		['x-request-timeout-ms', '999999999999999', 999_999_999_999_999],
		['x-envoy-expected-rq-timeout-ms', '15000', 15_000],
		['connect-timeout-ms', '9999999999', 9_999_999_999],
		['grpc-timeout', '2H', 7_200_000],
		['grpc-timeout', '3M', 180_000],
		['grpc-timeout', '4S', 4_000],
		['grpc-timeout', '5m', 5],
		['grpc-timeout', '1500u', 1.5],
		['grpc-timeout', '99999999n', 99.999999],
	])('%s: %s is %d ms', (header, text, ms) => {
		expect(read(header, text)).toBeCloseTo(ms, 9)
	})

	test.each<[DeadlineHeader, string]>([
		...[
			'',
			' ',
			'-1',
			'+1',
			'1.5',
			'1e3',
			'0x10',
			'10ms',
			'１０',
			'Infinity',
			'1, 2',
			'1 2',
			'1'.repeat(16),
		].map((text): [DeadlineHeader, string] => ['x-request-timeout-ms', text]),
		['connect-timeout-ms', '12345678901'],
		...['5', 'm', '5s', '5h', '123456789m', '1.5S', '-1S', '5 m', '5mm', '５m'].map(
			(text): [DeadlineHeader, string] => ['grpc-timeout', text],
		),
	])('%s: %j is ignored', (header, text) => {
		expect(read(header, text)).toBeUndefined()
	})

	test('the shortest of several counts, malformed ones are ignored', () => {
		const headers = new Headers({
			'x-request-timeout-ms': '900',
			'grpc-timeout': '800m',
			'x-envoy-expected-rq-timeout-ms': '1',
			'connect-timeout-ms': 'soon',
		})
		expect(readDeadline(headers, ['x-request-timeout-ms', 'grpc-timeout', 'connect-timeout-ms'])).toBe(800)
		expect(readDeadline(headers, RECEIVED_DEADLINES)).toBe(1)
		expect(readDeadline(headers, [])).toBeUndefined()
	})
})

test('what was written is read back, never as more than was left', () => {
	fc.assert(
		fc.property(fc.constantFrom(...ALL), fc.double({ min: 1, max: 1e17, noNaN: true }), (header, ms) => {
			const again = read(header, writeDeadline(header, ms)) ?? Number.NaN
			expect(again).toBeLessThanOrEqual(ms)
			if (ms < 1e8) expect(again).toBe(Math.floor(ms))
		}),
	)
})

test('any text is a duration or ignored', () => {
	fc.assert(
		fc.property(fc.constantFrom(...ALL), fc.string(), (header, text) => {
			const ms = read(header, text) ?? 0
			expect(Number.isFinite(ms) && ms >= 0).toBe(true)
		}),
	)
})

test('accepts the five header names only', () => {
	expect(ALL).toHaveLength(5)
	expect([...ALL, 'toString', 'x-timeout', 5, undefined].filter(isDeadlineHeader)).toEqual(ALL)
})
