/**
 * Where @grpc/grpc-js departs from proposal A6 and from proto3's JSON when it reads a service config, and that the two agree elsewhere.
 * A test that fails here after an update of grpc-js shows a difference that no longer exists.
 */
import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { expectDifferencesOf } from '../conformance/rule-tests.ts'
import { SECTIONS } from '../conformance/rules/sections.ts'
import { errorOf, HEDGING, parseMethod, RETRY, THROTTLING, withMethod } from './configs.ts'

interface ByGrpcJs {
	readonly methodConfig: readonly {
		readonly timeout?: { readonly seconds: number; readonly nanos: number }
		readonly maxRequestBytes?: number
		readonly maxRequestMessageBytes?: number
		readonly retryPolicy?: { readonly maxAttempts: number; readonly backoffMultiplier: number }
		readonly hedgingPolicy?: { readonly nonFatalStatusCodes?: unknown }
	}[]
	readonly retryThrottling?: { readonly maxTokens: number; readonly tokenRatio: number }
}

// The module has no type declarations of its own path in the package's exports.
const { validateServiceConfig } = createRequire(import.meta.url)(
	'@grpc/grpc-js/build/src/service-config.js',
) as { validateServiceConfig(json: unknown): ByGrpcJs }

const first = (settings: object) => validateServiceConfig(withMethod(settings)).methodConfig[0]
const pathOf = (settings: object) => errorOf(withMethod(settings)).optionPath

describe('durations', () => {
	test('grpc-js reads the decimals of a timeout as nanoseconds: "0.5s" is 5 ns', () => {
		expect(first({ timeout: '0.5s' })?.timeout).toEqual({ seconds: 0, nanos: 5 })
		expect(parseMethod({ timeout: '0.5s' }).timeoutMs).toBe(500)
	})

	test('grpc-js reads seconds as 32-bit integers: "3000000000s" is negative', () => {
		expect(first({ timeout: '3000000000s' })?.timeout?.seconds).toBeLessThan(0)
		expect(parseMethod({ timeout: '3000000000s' }).timeoutMs).toBe(3e12)
	})

	test('grpc-js accepts durations beyond the range of proto3', () => {
		expect(first({ timeout: '315576000001s' })).toBeDefined()
		expect(pathOf({ timeout: '315576000001s' })).toBe('methodConfig[0].timeout')
	})

	test('grpc-js accepts leading zeros, which a JSON number does not have', () => {
		expect(first({ timeout: '01s' })).toBeDefined()
		expect(pathOf({ timeout: '01s' })).toBe('methodConfig[0].timeout')
	})

	test('grpc-js accepts a timeout as an object of any numbers, which proto3 does not', () => {
		expect(first({ timeout: { seconds: -1, nanos: Number.NaN } })).toBeDefined()
		expect(pathOf({ timeout: { seconds: 1, nanos: 0 } })).toBe('methodConfig[0].timeout')
	})

	test('grpc-js accepts an initialBackoff and a maxBackoff of 0', () => {
		for (const field of ['initialBackoff', 'maxBackoff']) {
			expect(first({ retryPolicy: { ...RETRY, [field]: '0s' } })).toBeDefined()
			expect(pathOf({ retryPolicy: { ...RETRY, [field]: '0s' } })).toBe(
				`methodConfig[0].retryPolicy.${field}`,
			)
		}
	})
})

describe('retryThrottling', () => {
	test('grpc-js rounds tokenRatio instead of truncating it', () => {
		const retryThrottling = { maxTokens: 10, tokenRatio: 0.546_6 }
		expect(validateServiceConfig({ retryThrottling }).retryThrottling?.tokenRatio).toBe(0.547)
		expect(parseServiceConfig({ retryThrottling }).retryThrottling?.tokenRatio).toBe(0.546)
	})

	test('grpc-js accepts a tokenRatio that becomes 0', () => {
		const retryThrottling = { maxTokens: 10, tokenRatio: 0.000_4 }
		expect(validateServiceConfig({ retryThrottling }).retryThrottling?.tokenRatio).toBe(0)
		expect(errorOf({ retryThrottling }).optionPath).toBe('retryThrottling.tokenRatio')
	})

	test('grpc-js accepts a fraction as maxTokens', () => {
		const retryThrottling = { maxTokens: 10.5, tokenRatio: 0.1 }
		expect(validateServiceConfig({ retryThrottling }).retryThrottling?.maxTokens).toBe(10.5)
		expect(errorOf({ retryThrottling }).optionPath).toBe('retryThrottling.maxTokens')
	})

	test('grpc-js accepts NaN in an object', () => {
		const retryThrottling = { maxTokens: Number.NaN, tokenRatio: Number.NaN }
		expect(validateServiceConfig({ retryThrottling }).retryThrottling?.maxTokens).toBeNaN()
		expect(errorOf({ retryThrottling }).optionPath).toBe('retryThrottling.tokenRatio')
	})
})

describe('policies', () => {
	test('grpc-js accepts a backoffMultiplier of Infinity', () => {
		const json = JSON.parse(
			JSON.stringify(withMethod({ retryPolicy: { ...RETRY, backoffMultiplier: 'N' } })).replace(
				'"N"',
				'1e400',
			),
		)
		expect(validateServiceConfig(json).methodConfig[0]?.retryPolicy?.backoffMultiplier).toBe(Infinity)
		expect(errorOf(json).optionPath).toBe('methodConfig[0].retryPolicy.backoffMultiplier')
	})

	test('grpc-js ignores nonFatalStatusCodes that are not a list', () => {
		const hedgingPolicy = { ...HEDGING, nonFatalStatusCodes: 'ABORTED' }
		expect(first({ hedgingPolicy })?.hedgingPolicy?.nonFatalStatusCodes).toBe('ABORTED')
		expect(pathOf({ hedgingPolicy })).toBe('methodConfig[0].hedgingPolicy.nonFatalStatusCodes')
	})

	test('grpc-js accepts OK as a retryable status code', () => {
		const retryPolicy = { ...RETRY, retryableStatusCodes: ['OK'] }
		expect(first({ retryPolicy })).toBeDefined()
		expect(pathOf({ retryPolicy })).toBe('methodConfig[0].retryPolicy.retryableStatusCodes[0]')
	})

	test('grpc-js does not accept null for a field, which proto3 reads as missing', () => {
		for (const field of ['timeout', 'waitForReady', 'retryPolicy', 'hedgingPolicy']) {
			expect(() => first({ [field]: null })).toThrow()
			expect(parseMethod({ [field]: null })).toBeDefined()
		}
	})

	test('grpc-js ignores maxRequestMessageBytes, the name in the service config, and reads maxRequestBytes', () => {
		const settings = first({ maxRequestMessageBytes: 1_000, maxRequestBytes: 2_000 })
		expect(settings?.maxRequestMessageBytes).toBe(undefined)
		expect(settings?.maxRequestBytes).toBe(2_000)
		expect(parseMethod({ maxRequestMessageBytes: 1_000 }).maxRequestMessageBytes).toBe(1_000)
		expect(pathOf({ maxRequestBytes: 2_000 })).toBe('methodConfig[0].maxRequestBytes')
	})
})

describe('structure', () => {
	test('grpc-js ignores a methodConfig that is not a list', () => {
		expect(validateServiceConfig({ methodConfig: { retryPolicy: RETRY } }).methodConfig).toEqual([])
		expect(errorOf({ methodConfig: { retryPolicy: RETRY } }).optionPath).toBe('methodConfig')
	})

	test('grpc-js rejects an empty method without a service, which is the same as a missing one', () => {
		const json = { methodConfig: [{ name: [{ service: '', method: '' }], timeout: '1s' }] }
		expect(() => validateServiceConfig(json)).toThrow('method set with empty or unset service')
		expect(parseServiceConfig(json).find('a', 'b')?.timeoutMs).toBe(1_000)
	})

	test('grpc-js ignores misspelled fields', () => {
		expect(first({ retrypolicy: RETRY })).toBeDefined()
		expect(pathOf({ retrypolicy: RETRY })).toBe('methodConfig[0].retrypolicy')
	})

	test('grpc-js does not say where the error is', () => {
		const methodConfig = [{ name: [{}] }, { name: [], retryPolicy: { ...RETRY, maxAttempts: 1 } }]
		expect(() => validateServiceConfig({ methodConfig })).toThrow(
			/^Invalid method config retry policy: maxAttempts must be an integer at least 2$/,
		)
		expect(errorOf({ methodConfig }).message).toBe(
			'Invalid option "methodConfig[1].retryPolicy.maxAttempts": expected an integer, 2 or more, got 1',
		)
	})
})

describe('agreement', () => {
	const accepts = (parse: (json: object) => unknown, json: object): boolean => {
		try {
			parse(json)
			return true
		} catch {
			return false
		}
	}
	const value = fc.constantFrom<unknown>(
		...[
			-1,
			1,
			2,
			5,
			9,
			1.5,
			'',
			'2',
			'1s',
			'0.5s',
			'-1s',
			'1',
			's',
			true,
			[],
			['ABORTED'],
			['nope'],
			[14],
			[99],
			{},
		],
	)
	const differs = (name: string, given: unknown) =>
		(name === 'nonFatalStatusCodes' && !Array.isArray(given)) || (name === 'maxTokens' && given === 1.5)

	test('both accept and reject the same values of each field of the policies', () => {
		const fields = [
			...Object.keys(RETRY).map((name) => ['retryPolicy', name] as const),
			...Object.keys(HEDGING).map((name) => ['hedgingPolicy', name] as const),
			...Object.keys(THROTTLING).map((name) => ['retryThrottling', name] as const),
		]
		const valid = { retryPolicy: RETRY, hedgingPolicy: HEDGING, retryThrottling: THROTTLING }
		fc.assert(
			fc.property(fc.constantFrom(...fields), value, ([policy, name], given) => {
				fc.pre(!differs(name, given))
				const changed = { [policy]: { ...valid[policy], [name]: given } }
				const json = policy === 'retryThrottling' ? changed : withMethod(changed)
				expect(accepts(parseServiceConfig, json)).toBe(accepts(validateServiceConfig, json))
			}),
			{ numRuns: 300 },
		)
	})

	test('both find the same repeated names', () => {
		const part = fc.constantFrom('', 'a', 'b')
		const name = fc.tuple(part, part).map(([service, method]) => (service ? { service, method } : {}))
		fc.assert(
			fc.property(fc.array(fc.array(name, { maxLength: 3 }), { maxLength: 4 }), (lists) => {
				const json = { methodConfig: lists.map((list) => ({ name: list })) }
				expect(accepts(parseServiceConfig, json)).toBe(accepts(validateServiceConfig, json))
			}),
		)
	})
})

expectDifferencesOf(SECTIONS.filter(({ differences }) => differences))
