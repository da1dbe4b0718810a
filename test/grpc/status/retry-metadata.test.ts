import { describe, expect, test } from 'vitest'
import { MAX_PUSHBACK_MS, NO_RETRY, parsePushback } from '../../../src/grpc/status/retry-metadata.ts'

describe('grpc-retry-pushback-ms', () => {
	test('asks for nothing if it is missing', () => {
		expect(parsePushback([])).toBeUndefined()
	})

	test.each([
		['0', 0],
		['1', 1],
		['10000', 10_000],
		['2147483647', MAX_PUSHBACK_MS],
	])('%s is a delay', (value, expected) => {
		expect(parsePushback([value])).toBe(expected)
	})

	test.each([
		'-1',
		'',
		' 1',
		'1 ',
		'+1',
		'01',
		'1.5',
		'1e3',
		'0x10',
		'NaN',
		'2147483648',
		'99999999999',
		'١',
	])('%j forbids retries', (value) => {
		expect(parsePushback([value])).toBe(NO_RETRY)
	})

	test('forbids retries if there are several values or bytes', () => {
		expect(parsePushback(['1', '1'])).toBe(NO_RETRY)
		expect(parsePushback([Buffer.from('1')])).toBe(NO_RETRY)
	})
})
