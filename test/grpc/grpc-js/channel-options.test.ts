import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseServiceConfig, resilientChannelOptions } from 'yaoki/grpc'
import { CONFIG } from '../service-config/arbitrary-config.ts'
import { HEDGING, RETRY, THROTTLING } from '../service-config/configs.ts'

const { validateServiceConfig } = createRequire(import.meta.url)(
	'@grpc/grpc-js/build/src/service-config.js',
) as { validateServiceConfig(json: unknown): object }

const channelConfig = (json: object) =>
	JSON.parse(resilientChannelOptions(parseServiceConfig(json))['grpc.service_config'])

test('a server that was away is connected to again after 2 s at the latest, not after two minutes', () => {
	const options = resilientChannelOptions(parseServiceConfig({}))
	expect(options).toMatchObject({ 'grpc.max_reconnect_backoff_ms': 2_000 })
})

test('so is it without a service config, and the rest of the channel stays as it is', () => {
	expect(resilientChannelOptions()).toEqual({ 'grpc.max_reconnect_backoff_ms': 2_000 })
})

describe('the service config of the channel', () => {
	test('has no retries, no hedging, no throttling and no timeouts, which the interceptor has', () => {
		const json = {
			methodConfig: [
				{ name: [{ service: 'a' }], retryPolicy: RETRY, timeout: '0.5s', waitForReady: true },
				{ name: [{ service: 'b', method: 'c' }], hedgingPolicy: HEDGING, maxRequestMessageBytes: '10' },
			],
			retryThrottling: THROTTLING,
		}
		expect(channelConfig(json)).toEqual({
			methodConfig: [
				{ name: [{ service: 'a' }], waitForReady: true },
				{ name: [{ service: 'b', method: 'c' }], maxRequestMessageBytes: 10 },
			],
		})
	})

	test('has the other fields', () => {
		const json = { loadBalancingConfig: [{ round_robin: {} }], healthCheckConfig: { serviceName: 'a' } }
		expect(channelConfig(json)).toEqual({ ...json, methodConfig: [] })
	})

	test('is accepted by grpc-js, whatever the form of the given one: null for missing fields failed', () => {
		const forms = [
			{ methodConfig: null, retryThrottling: null, loadBalancingConfig: null, loadBalancingPolicy: null },
			{ methodConfig: [{ name: [{ service: '', method: '' }] }, { name: [] }] },
			{ methodConfig: [{ name: [{ service: null, method: null }], waitForReady: null, timeout: null }] },
			{ methodConfig: [{ name: [{ service: 'a', method: null }], retryPolicy: null, hedgingPolicy: null }] },
		]
		for (const json of forms) expect(() => validateServiceConfig(channelConfig(json))).not.toThrow()
		fc.assert(
			fc.property(CONFIG, (json) => {
				expect(() => validateServiceConfig(channelConfig(json))).not.toThrow()
			}),
		)
	})
})
