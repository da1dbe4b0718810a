import { describe, expect, test } from 'vitest'
import { expectSuitesOf } from '../conformance/rule-tests.ts'
import { RETRY_POLICY } from '../conformance/rules/validation.ts'
import { errorOf, HEDGING, parseMethod, RETRY, withMethod, without } from './configs.ts'

const retry = (changes: object) => parseMethod({ retryPolicy: { ...RETRY, ...changes } }).retryPolicy
const errorOfRetry = (policy: object) => errorOf(withMethod({ retryPolicy: policy }))
const path = (field: string) => `methodConfig[0].retryPolicy.${field}`

test('a retry policy is parsed with durations in milliseconds and status codes as numbers', () => {
	expect(retry({})).toEqual({
		maxAttempts: 4,
		initialBackoffMs: 100,
		maxBackoffMs: 1_000,
		backoffMultiplier: 2,
		retryableStatusCodes: new Set([14]),
	})
})

describe('A6 validation of retryPolicy, rule 1: maxAttempts is a JSON integer above 1, and above the cap it means the cap', () => {
	test.each([2, 3, 4, 5])('%j is accepted', (maxAttempts) => {
		expect(retry({ maxAttempts })?.maxAttempts).toBe(maxAttempts)
	})

	test.each([6, 1_000, 2 ** 53, 1e300])('%j means 5', (maxAttempts) => {
		expect(retry({ maxAttempts })?.maxAttempts).toBe(5)
	})

	test.each([1, 0, -1, 1.5, 2.000_000_1, '4', true, [4], {}, Number.NaN, Infinity, -Infinity, 4n])(
		'%s is an error',
		(maxAttempts) => {
			const error = errorOfRetry({ ...RETRY, maxAttempts })
			expect(error.optionPath).toBe(path('maxAttempts'))
			expect(error.received).toBe(maxAttempts)
			expect(error.expected).toBe('an integer, 2 or more')
		},
	)

	test('a missing maxAttempts is an error, and null is the same as missing', () => {
		expect(errorOfRetry(without(RETRY, 'maxAttempts')).optionPath).toBe(path('maxAttempts'))
		expect(errorOfRetry({ ...RETRY, maxAttempts: null }).received).toBe(undefined)
	})

	test('an integer that is written with decimals or an exponent is an integer', () => {
		const text = JSON.stringify(withMethod({ retryPolicy: { ...RETRY, maxAttempts: 'N' } }))
		for (const written of ['3.0', '3e0', '30e-1']) expect(errorFree(text.replace('"N"', written))).toBe(3)
	})

	const errorFree = (text: string) => parseMethod(JSON.parse(text).methodConfig[0]).retryPolicy?.maxAttempts

	test('maxAttemptsCap raises or lowers the cap for retries and hedging', () => {
		const parse = (maxAttempts: number, maxAttemptsCap: number) => {
			const retryPolicy = { ...RETRY, maxAttempts }
			const hedgingPolicy = { ...HEDGING, maxAttempts }
			const capped = [{ retryPolicy }, { hedgingPolicy }].map((one) => parseMethod(one, { maxAttemptsCap }))
			return [capped[0]?.retryPolicy?.maxAttempts, capped[1]?.hedgingPolicy?.maxAttempts]
		}
		expect(parse(8, 10)).toEqual([8, 8])
		expect(parse(12, 10)).toEqual([10, 10])
		expect(parse(4, 2)).toEqual([2, 2])
	})

	test.each([1, 0, -1, 2.5, Number.NaN, Infinity, '5', null])('maxAttemptsCap: %s is an error', (cap) => {
		const error = errorOf({}, { maxAttemptsCap: cap as number })
		expect(error.optionPath).toBe('maxAttemptsCap')
		expect(error.received).toBe(cap)
	})

	test('an unknown option is an error with the nearest name', () => {
		const error = errorOf({}, { maxAttemptCap: 5 } as object)
		expect(error.message).toBe(
			'Unknown option "maxAttemptCap" for parseServiceConfig. Did you mean "maxAttemptsCap"?',
		)
	})
})

describe('A6 validation of retryPolicy, rule 2: initialBackoff and maxBackoff are proto3 durations above 0', () => {
	test.each(['initialBackoff', 'maxBackoff'])('%s must be given', (field) => {
		expect(errorOfRetry(without(RETRY, field)).optionPath).toBe(path(field))
		expect(errorOfRetry({ ...RETRY, [field]: null }).optionPath).toBe(path(field))
	})

	test.each(['initialBackoff', 'maxBackoff'])('%s above 0 is accepted', (field) => {
		const parsed = retry({ [field]: '0.000000001s' })
		expect(parsed?.[`${field}Ms` as 'maxBackoffMs']).toBe(0.000_001)
	})

	test.each(['initialBackoff', 'maxBackoff'])('%s of 0 is an error', (field) => {
		for (const zero of ['0s', '0.0s', '0.000000000s']) {
			const error = errorOfRetry({ ...RETRY, [field]: zero })
			expect([error.optionPath, error.received]).toEqual([path(field), zero])
			expect(error.expected).toBe('a duration above 0, such as "0.1s"')
		}
	})

	test.each(['initialBackoff', 'maxBackoff'])('%s that is not a duration is an error', (field) => {
		for (const value of ['1', '-1s', '.5s', '1.s', '1m', '1 s', 1, 0.1, { seconds: 1, nanos: 0 }, ['1s']]) {
			const error = errorOfRetry({ ...RETRY, [field]: value })
			expect([error.optionPath, error.received]).toEqual([path(field), value])
		}
	})

	test('maxBackoff may be less than initialBackoff: the delay is the lesser of the two', () => {
		expect(retry({ initialBackoff: '2s', maxBackoff: '1s' })).toMatchObject({
			initialBackoffMs: 2_000,
			maxBackoffMs: 1_000,
		})
	})
})

describe('A6 validation of retryPolicy, rule 3: backoffMultiplier is a JSON number above 0', () => {
	test.each([0.001, 0.5, 1, 1.3, 2, 1e9])('%j is accepted', (backoffMultiplier) => {
		expect(retry({ backoffMultiplier })?.backoffMultiplier).toBe(backoffMultiplier)
	})

	test.each([0, -0, -1, '2', true, [2], {}, Number.NaN, Infinity])('%s is an error', (backoffMultiplier) => {
		const error = errorOfRetry({ ...RETRY, backoffMultiplier })
		expect(error.optionPath).toBe(path('backoffMultiplier'))
		expect(error.received).toBe(backoffMultiplier)
		expect(error.expected).toBe('a finite number above 0')
	})

	test('a missing multiplier is an error', () => {
		expect(errorOfRetry(without(RETRY, 'backoffMultiplier')).optionPath).toBe(path('backoffMultiplier'))
	})
})

describe('A6 validation of retryPolicy, rule 4: retryableStatusCodes is a non-empty list of codes or names in any case', () => {
	test.each([
		[[14], [14]],
		[['UNAVAILABLE'], [14]],
		[['unavailable'], [14]],
		[
			['Deadline_Exceeded', 8, 'ABORTED', 'aborted', 10],
			[4, 8, 10],
		],
		[
			Array.from({ length: 16 }, (_, index) => index + 1),
			Array.from({ length: 16 }, (_, index) => index + 1),
		],
	])('%j is accepted', (retryableStatusCodes, codes) => {
		expect(retry({ retryableStatusCodes })?.retryableStatusCodes).toEqual(new Set(codes))
	})

	test.each([
		17,
		-1,
		1.5,
		'NOPE',
		'14',
		'',
		'UNAVAILABLE ',
		'unavaılable',
		'toString',
		'__proto__',
		null,
		true,
		['ABORTED'],
	])('%j in the list is an error with its position', (code) => {
		const error = errorOfRetry({ ...RETRY, retryableStatusCodes: ['ABORTED', code] })
		expect(error.optionPath).toBe(path('retryableStatusCodes[1]'))
		expect(error.received).toBe(code)
		expect(error.expected).toContain('UNAVAILABLE')
	})

	test.each([0, 'OK', 'ok'])('%j is an error, because OK is not the status of a failure', (code) => {
		expect(errorOfRetry({ ...RETRY, retryableStatusCodes: [code] }).optionPath).toBe(
			path('retryableStatusCodes[0]'),
		)
	})

	test.each([[[]], ['UNAVAILABLE'], [14], [{}], [true]])('%j in place of a list is an error', (codes) => {
		expect(errorOfRetry({ ...RETRY, retryableStatusCodes: codes }).optionPath).toBe(
			path('retryableStatusCodes'),
		)
	})

	test('missing codes are an error', () => {
		expect(errorOfRetry(without(RETRY, 'retryableStatusCodes')).optionPath).toBe(path('retryableStatusCodes'))
	})
})

describe('A6 validation of retryPolicy, at most one of retryPolicy and hedgingPolicy', () => {
	test('both in one entry are an error', () => {
		const error = errorOf(withMethod({ retryPolicy: RETRY, hedgingPolicy: HEDGING }))
		expect(error.optionPath).toBe('methodConfig[0].hedgingPolicy')
		expect(error.expected).toBe('no value beside a retryPolicy')
	})

	test('null in place of one of them is the same as missing', () => {
		expect(parseMethod({ retryPolicy: RETRY, hedgingPolicy: null }).hedgingPolicy).toBe(undefined)
		expect(parseMethod({ retryPolicy: null, hedgingPolicy: HEDGING }).retryPolicy).toBe(undefined)
	})

	test('a method has no retries without a policy', () => {
		expect(parseMethod({ timeout: '1s' })).toMatchObject({ retryPolicy: undefined, hedgingPolicy: undefined })
	})

	test.each([[], 'x', 1, true, [RETRY], () => RETRY])('%j in place of a policy is an error', (policy) => {
		for (const field of ['retryPolicy', 'hedgingPolicy'])
			expect(errorOf(withMethod({ [field]: policy })).optionPath).toBe(`methodConfig[0].${field}`)
	})
})

expectSuitesOf(RETRY_POLICY)
