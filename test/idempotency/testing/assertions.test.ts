import { describe, expect, test } from 'vitest'
import { assertEqual, assertNear, assertThat } from '../../../src/idempotency/testing/harness/assertions.ts'

const equal = (actual: unknown, expected: unknown) => () => assertEqual(actual, expected, 'the value')

describe('assertEqual', () => {
	test.each<[string, unknown, unknown]>([
		['NaN', Number.NaN, Number.NaN],
		['bytes of two arrays', Uint8Array.of(1, 2), Buffer.from([1, 2])],
		['members in another order', { a: 1, b: [2] }, { b: [2], a: 1 }],
		['a member that is undefined or missing', { a: 1, b: undefined }, { a: 1 }],
	])('accepts %s', (_, actual, expected) => {
		expect(equal(actual, expected)).not.toThrow()
	})

	test.each<[string, unknown, unknown]>([
		['0 and -0', 0, -0],
		['bytes of another length', Uint8Array.of(1), Uint8Array.of(1, 2)],
		['bytes and an array', Uint8Array.of(1), [1]],
		['an array and an object', [1], { 0: 1 }],
		['an additional member', { a: 1, b: 2 }, { a: 1 }],
		['an inherited member', {}, { toString: 1 }],
		['null and an object', null, {}],
		['a number and its text', 1, '1'],
	])('rejects %s', (_, actual, expected) => {
		expect(equal(actual, expected)).toThrow('the value: expected ')
	})

	test('shows the first bytes and the number of bytes', () => {
		expect(equal(Uint8Array.of(7, 8), null)).toThrow('the value: expected null, got "<2 bytes: 7 8>"')
	})

	test('cuts long values off', () => {
		expect(equal('x'.repeat(1_000), 'y')).toThrow(/got "x{299}…$/)
	})
})

describe('assertNear', () => {
	test('accepts what a slow case can cause', () => {
		expect(() => assertNear(1_000_000, 1_600_000, 'the lease')).not.toThrow()
	})

	test.each([1_600_001, null, undefined, Number.NaN])('rejects %s', (actual) => {
		expect(() => assertNear(actual, 1_000_000, 'the lease')).toThrow('the lease: expected about 1000000')
	})
})

test('assertThat throws its message for a condition that does not hold', () => {
	expect(() => assertThat(0, 'the rest is negative')).toThrow('the rest is negative')
	expect(() => assertThat(1, 'the rest is negative')).not.toThrow()
})
