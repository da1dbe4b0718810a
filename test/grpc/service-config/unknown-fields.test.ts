import { describe, expect, test } from 'vitest'
import { parseServiceConfig } from 'yaoki/grpc'
import { argumentErrorOf, errorOf, HEDGING, RETRY, THROTTLING, withMethod } from './configs.ts'

describe('an unknown field is an error with the nearest name', () => {
	test.each([
		[withMethod({ retrypolicy: RETRY }), 'methodConfig[0].retrypolicy', 'retryPolicy'],
		[withMethod({ retry_policy: RETRY }), 'methodConfig[0].retry_policy', 'retryPolicy'],
		[withMethod({ maxRequestBytes: 1 }), 'methodConfig[0].maxRequestBytes', 'maxRequestMessageBytes'],
		[withMethod({ timeOut: '1s' }), 'methodConfig[0].timeOut', 'timeout'],
		[withMethod({ names: [] }), 'methodConfig[0].names', 'name'],
		[withMethod({ retryThrottling: THROTTLING }), 'methodConfig[0].retryThrottling', undefined],
		[{ methodConfig: [{ name: [{ services: 'a' }] }] }, 'methodConfig[0].name[0].services', 'service'],
		[
			withMethod({ retryPolicy: { ...RETRY, maxAttempt: 3 } }),
			'methodConfig[0].retryPolicy.maxAttempt',
			'maxAttempts',
		],
		[
			withMethod({ retryPolicy: { ...RETRY, hedgingDelay: '1s' } }),
			'methodConfig[0].retryPolicy.hedgingDelay',
			undefined,
		],
		[
			withMethod({ hedgingPolicy: { ...HEDGING, hedgeDelay: '1s' } }),
			'methodConfig[0].hedgingPolicy.hedgeDelay',
			'hedgingDelay',
		],
		[{ retryThrottling: { ...THROTTLING, tokensRatio: 1 } }, 'retryThrottling.tokensRatio', 'tokenRatio'],
	])('%j', (json, path, suggestion) => {
		const error = errorOf(json)
		expect(error.optionPath).toBe(path)
		expect(error.suggestion).toBe(suggestion)
		expect(error.isUnknown).toBe(true)
	})

	test('the message names the object that has no such field', () => {
		expect(errorOf(withMethod({ retryPolicy: { ...RETRY, maxRetries: 3 } })).message).toBe(
			'Unknown option "methodConfig[0].retryPolicy.maxRetries" for retryPolicy. Valid options: maxAttempts, initialBackoff, maxBackoff, backoffMultiplier, retryableStatusCodes',
		)
	})
})

describe('other fields of a service config belong to the channel', () => {
	test.each([
		{ loadBalancingPolicy: 'round_robin' },
		{ loadBalancingConfig: [{ round_robin: {} }] },
		{ healthCheckConfig: { serviceName: 'a' } },
		{ connectionScaling: { maxConnectionsPerSubchannel: 4 } },
		{ somethingOfTheFuture: { x: 1 } },
	])('%j is accepted and kept', (json) => {
		expect(parseServiceConfig(json).json).toEqual(json)
		expect(parseServiceConfig(JSON.stringify(json)).json).toEqual(json)
	})

	test.each([
		['methodConfigs', 'methodConfig'],
		['methodconfig', 'methodConfig'],
		['method_config', 'methodConfig'],
		['retryThrottle', 'retryThrottling'],
		['loadBalancingConfigs', 'loadBalancingConfig'],
	])('%s is an error, because it is probably misspelled', (name, suggestion) => {
		const error = errorOf({ [name]: [] })
		expect([error.optionPath, error.suggestion]).toEqual([name, suggestion])
	})

	test('serviceConfig is an error: a list of choices, as in DNS, is not a service config', () => {
		expect(errorOf({ serviceConfig: {}, percentage: 100 }).optionPath).toBe('serviceConfig')
		expect(argumentErrorOf([{ serviceConfig: {} }]).argument).toBe('json')
	})
})
