/** Service configs for the test service, all methods alike. */
import { parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'

interface ConfigOptions {
	readonly timeout?: string
	readonly retryThrottling?: { readonly maxTokens: number; readonly tokenRatio: number }
}

function configOf(policy: object, { timeout, retryThrottling }: ConfigOptions): ServiceConfig {
	return parseServiceConfig({
		methodConfig: [{ name: [{}], ...(timeout && { timeout }), ...policy }],
		...(retryThrottling && { retryThrottling }),
	})
}

const CODES = ['UNAVAILABLE', 'CANCELLED']

/** Retries UNAVAILABLE and CANCELLED after 80 to 120 ms, then twice that. */
export function retries(maxAttempts = 3, options: ConfigOptions = {}): ServiceConfig {
	const retryPolicy = {
		maxAttempts,
		initialBackoff: '0.1s',
		maxBackoff: '1s',
		backoffMultiplier: 2,
		retryableStatusCodes: CODES,
	}
	return configOf({ retryPolicy }, options)
}

/** Sends another request every 100 ms. UNAVAILABLE and CANCELLED are not fatal. */
export function hedging(maxAttempts = 3, options: ConfigOptions = {}): ServiceConfig {
	const hedgingPolicy = { maxAttempts, hedgingDelay: '0.1s', nonFatalStatusCodes: CODES }
	return configOf({ hedgingPolicy }, options)
}
