import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenBudget } from 'yaoki'
import { parseServiceConfig } from 'yaoki/grpc'
import { expectSuitesOf } from '../conformance/rule-tests.ts'
import { RETRY_THROTTLING } from '../conformance/rules/validation.ts'
import { errorOf, THROTTLING, without } from './configs.ts'

const throttling = (changes: object) =>
	parseServiceConfig({ retryThrottling: { ...THROTTLING, ...changes } }).retryThrottling
const errorOfThrottling = (retryThrottling: unknown) => errorOf({ retryThrottling })

describe('A6 validation of retryThrottling, rule 1: maxTokens is a JSON integer in (0, 1000]', () => {
	test.each([1, 10, 999, 1_000])('%j is accepted', (maxTokens) => {
		expect(throttling({ maxTokens })?.maxTokens).toBe(maxTokens)
	})

	test.each([0, -1, 1_001, 10.5, 0.5, 999.999, '10', true, [10], {}, Number.NaN, Infinity])(
		'%s is an error',
		(maxTokens) => {
			const error = errorOfThrottling({ ...THROTTLING, maxTokens })
			expect(error.optionPath).toBe('retryThrottling.maxTokens')
			expect(error.received).toBe(maxTokens)
			expect(error.expected).toBe('an integer from 1 to 1000')
		},
	)

	test('a missing maxTokens is an error', () => {
		expect(errorOfThrottling(without(THROTTLING, 'maxTokens')).optionPath).toBe('retryThrottling.maxTokens')
		expect(errorOfThrottling({ ...THROTTLING, maxTokens: null }).optionPath).toBe('retryThrottling.maxTokens')
	})
})

describe('A6 validation of retryThrottling, rule 2: tokenRatio is a number above 0, truncated to three decimals', () => {
	test.each([
		[0.1, 0.1],
		[0.546_6, 0.546],
		[0.545_999_999, 0.545],
		[1.005, 1.005],
		[1.005_9, 1.005],
		[0.29, 0.29],
		[0.001_999, 0.001],
		[0.001, 0.001],
		[8.115, 8.115],
		[3, 3],
		[999.999_9, 999.999],
	])('%j is treated as %j', (tokenRatio, treated) => {
		expect(throttling({ tokenRatio })?.tokenRatio).toBe(treated)
	})

	test.each([1_001, 5_000.5, 1e21, 1e300])('%j fills every bucket, as 1000 does', (tokenRatio) => {
		expect(throttling({ tokenRatio })?.tokenRatio).toBe(1_000)
	})

	test.each([0, -0.1, 0.000_9, 1e-7, Number.MIN_VALUE, '0.1', true, [0.1], {}, Number.NaN, Infinity])(
		'%s is an error',
		(tokenRatio) => {
			const error = errorOfThrottling({ ...THROTTLING, tokenRatio })
			expect(error.optionPath).toBe('retryThrottling.tokenRatio')
			expect(error.received).toBe(tokenRatio)
			expect(error.expected).toBe('a finite number, 0.001 or more')
		},
	)

	test('a missing tokenRatio is an error', () => {
		expect(errorOfThrottling(without(THROTTLING, 'tokenRatio')).optionPath).toBe('retryThrottling.tokenRatio')
	})

	test('any decimal number is cut after its third decimal', () => {
		fc.assert(
			fc.property(
				fc.integer({ min: 1, max: 999_999 }),
				fc.stringMatching(/^[0-9]{0,9}$/),
				(thousandths, rest) => {
					const digits = String(thousandths).padStart(4, '0')
					const written = `${digits.slice(0, -3)}.${digits.slice(-3)}`
					const parsed = parseServiceConfig(
						`{"retryThrottling":{"maxTokens":10,"tokenRatio":${unpadded(written + rest)}}}`,
					)
					expect(parsed.retryThrottling?.tokenRatio).toBe(Number(written))
				},
			),
		)
	})

	/** JSON has no leading zeros. */
	const unpadded = (written: string) => written.replace(/^0+(?=\d)/, '')
})

test('every valid throttling makes a token budget', () => {
	for (const maxTokens of [1, 1_000])
		for (const tokenRatio of [0.001, 0.1, 1e300]) {
			const budget = tokenBudget(throttling({ maxTokens, tokenRatio }))
			expect(budget.stats.tokens).toBe(maxTokens)
		}
})

test.each([[[]], ['x'], [1], [true], [[THROTTLING]]])(
	'%j in place of retryThrottling is an error',
	(value) => {
		expect(errorOfThrottling(value).optionPath).toBe('retryThrottling')
	},
)

test('nothing is throttled without retryThrottling, and with null', () => {
	expect(parseServiceConfig({}).retryThrottling).toBe(undefined)
	expect(parseServiceConfig({ retryThrottling: null }).retryThrottling).toBe(undefined)
})

expectSuitesOf(RETRY_THROTTLING)
