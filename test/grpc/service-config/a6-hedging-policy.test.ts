import { describe, expect, test } from 'vitest'
import { expectSuitesOf } from '../conformance/rule-tests.ts'
import { HEDGING_POLICY } from '../conformance/rules/validation.ts'
import { errorOf, HEDGING, parseMethod, withMethod, without } from './configs.ts'

const hedging = (changes: object) => parseMethod({ hedgingPolicy: { ...HEDGING, ...changes } }).hedgingPolicy
const errorOfHedging = (policy: object) => errorOf(withMethod({ hedgingPolicy: policy }))
const path = (field: string) => `methodConfig[0].hedgingPolicy.${field}`

test('a hedging policy is parsed with its delay in milliseconds and status codes as numbers', () => {
	expect(hedging({})).toEqual({ maxAttempts: 3, hedgingDelayMs: 500, nonFatalStatusCodes: new Set([10]) })
})

describe('A6 validation of hedgingPolicy, rule 1: maxAttempts is a JSON integer above 1, and above the cap it means the cap', () => {
	test.each([2, 5])('%j is accepted', (maxAttempts) => {
		expect(hedging({ maxAttempts })?.maxAttempts).toBe(maxAttempts)
	})

	test.each([6, 1e300])('%j means 5', (maxAttempts) => {
		expect(hedging({ maxAttempts })?.maxAttempts).toBe(5)
	})

	test.each([1, 0, -1, 2.5, '4', true, [4], {}, Number.NaN, Infinity])('%s is an error', (maxAttempts) => {
		const error = errorOfHedging({ ...HEDGING, maxAttempts })
		expect(error.optionPath).toBe(path('maxAttempts'))
		expect(error.received).toBe(maxAttempts)
	})

	test('a missing maxAttempts is an error', () => {
		expect(errorOfHedging(without(HEDGING, 'maxAttempts')).optionPath).toBe(path('maxAttempts'))
	})
})

describe('A6 validation of hedgingPolicy, rule 2: hedgingDelay is optional, and a proto3 duration', () => {
	test.each([
		['0s', 0],
		['0.010s', 10],
		['2s', 2_000],
	])('%j is accepted', (hedgingDelay, ms) => {
		expect(hedging({ hedgingDelay })?.hedgingDelayMs).toBe(ms)
	})

	test('a missing delay is 0: all requests are sent immediately', () => {
		expect(parseMethod({ hedgingPolicy: { maxAttempts: 2 } }).hedgingPolicy).toEqual({
			maxAttempts: 2,
			hedgingDelayMs: 0,
			nonFatalStatusCodes: new Set(),
		})
		expect(hedging({ hedgingDelay: null })?.hedgingDelayMs).toBe(0)
	})

	test.each(['', '-1s', '1', '0.5', '.5s', 0, 500, {}, ['0s'], false])('%j is an error', (hedgingDelay) => {
		const error = errorOfHedging({ ...HEDGING, hedgingDelay })
		expect(error.optionPath).toBe(path('hedgingDelay'))
		expect(error.received).toBe(hedgingDelay)
	})
})

describe('A6 validation of hedgingPolicy, rule 3: nonFatalStatusCodes is an optional list of codes or names in any case', () => {
	test.each([
		[[], []],
		[
			[14, 'internal', 'ABORTED'],
			[14, 13, 10],
		],
	])('%j is accepted', (nonFatalStatusCodes, codes) => {
		expect(hedging({ nonFatalStatusCodes })?.nonFatalStatusCodes).toEqual(new Set(codes))
	})

	test.each([17, 0, 'ok', 'NOPE', '14', null, 3.5])(
		'%j in the list is an error with its position',
		(code) => {
			const error = errorOfHedging({ ...HEDGING, nonFatalStatusCodes: [code] })
			expect(error.optionPath).toBe(path('nonFatalStatusCodes[0]'))
			expect(error.received).toBe(code)
		},
	)

	test.each(['ABORTED', 10, {}, { 0: 'ABORTED', length: 1 }, true])(
		'%j in place of a list is an error',
		(codes) => {
			expect(errorOfHedging({ ...HEDGING, nonFatalStatusCodes: codes }).optionPath).toBe(
				path('nonFatalStatusCodes'),
			)
		},
	)
})

expectSuitesOf(HEDGING_POLICY)
