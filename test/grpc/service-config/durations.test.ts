import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { errorOf, parseMethod, withMethod } from './configs.ts'

const timeoutMs = (timeout: string) => parseMethod({ timeout }).timeoutMs

describe('proto3 durations', () => {
	test.each([
		['0.5s', 500],
		['0.05s', 50],
		['1s', 1_000],
		['1.005s', 1_005],
		['2.500s', 2_500],
		['0.000000001s', 0.000_001],
		['0.123456789s', 123.456_789],
		['3600s', 3_600_000],
		['10000000000s', 1e13],
		['315576000000s', 315_576_000_000_000],
	])('%j is %j ms', (text, ms) => {
		expect(timeoutMs(text)).toBe(ms)
	})

	test('a timeout of 0 is accepted: every call exceeds its deadline', () => {
		expect(timeoutMs('0s')).toBe(0)
		expect(timeoutMs('0.000s')).toBe(0)
	})

	test('a timeout that is missing or null is none', () => {
		expect(parseMethod({}).timeoutMs).toBe(undefined)
		expect(parseMethod({ timeout: null }).timeoutMs).toBe(undefined)
	})

	test.each(['-1s', '-0.5s', '-0s', '-315576000000s'])('the negative duration %j is an error', (timeout) => {
		const error = errorOf(withMethod({ timeout }))
		expect([error.optionPath, error.received]).toEqual(['methodConfig[0].timeout', timeout])
	})

	test.each(['315576000001s', '999999999999999999999s', `${'9'.repeat(100_000)}s`, '1e12s'])(
		'a duration beyond 10,000 years is an error',
		(timeout) => {
			const error = errorOf(withMethod({ timeout }))
			expect([error.optionPath, error.received]).toEqual(['methodConfig[0].timeout', timeout])
			expect(error.expected).toBe(
				'a duration from "0s" to "315576000000s" with at most nine decimals, such as "0.5s"',
			)
		},
	)

	test.each([
		['a number', 1],
		['no unit', '1'],
		['another unit', '100ms'],
		['minutes', '1m'],
		['upper case', '1S'],
		['a leading point', '.5s'],
		['a trailing point', '1.s'],
		['ten decimals', '0.0000000001s'],
		['an exponent', '1e3s'],
		['leading zeros', '01s'],
		['a plus sign', '+1s'],
		['spaces', ' 1s '],
		['a newline', '1s\n'],
		['digits of another script', '١s'],
		['two points', '1.0.0s'],
		['hexadecimal', '0x1s'],
		['Infinity', 'Infinitys'],
		['an empty string', ''],
		['only the unit', 's'],
		['an object', { seconds: 1, nanos: 0 }],
		['a list', ['1s']],
		['a boolean', true],
	])('%s is an error', (_, timeout) => {
		const error = errorOf(withMethod({ timeout }))
		expect([error.optionPath, error.received]).toEqual(['methodConfig[0].timeout', timeout])
	})

	test('a duration with any number of decimals is exact to the nanosecond', () => {
		const seconds = fc.integer({ min: 0, max: 1_000_000 })
		const nanos = fc.integer({ min: 0, max: 999_999_999 })
		fc.assert(
			fc.property(seconds, nanos, fc.integer({ min: 0, max: 9 }), (whole, fraction, decimals) => {
				const digits = String(fraction).padStart(9, '0').slice(0, decimals)
				const ms = timeoutMs(`${whole}${digits && `.${digits}`}s`) ?? Number.NaN
				const expected = BigInt(whole) * 1_000_000_000n + BigInt(digits.padEnd(9, '0'))
				expect(BigInt(Math.round((ms % 1_000) * 1e6)) + BigInt(Math.floor(ms / 1_000)) * 1_000_000_000n).toBe(
					expected,
				)
			}),
		)
	})
})
