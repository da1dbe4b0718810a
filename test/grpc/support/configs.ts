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

/** A policy that retries these statuses after a millisecond. */
export const quickRetry = (maxAttempts = 3, codes: readonly string[] = ['UNAVAILABLE']): object => ({
	retryPolicy: {
		maxAttempts,
		initialBackoff: '0.001s',
		maxBackoff: '0.001s',
		backoffMultiplier: 1,
		retryableStatusCodes: codes,
	},
})

/** That policy for all methods. */
export const quickRetries = (maxAttempts?: number, codes?: readonly string[]): ServiceConfig =>
	configOf(quickRetry(maxAttempts, codes), {})

/** Sends another request every 100 ms. UNAVAILABLE and CANCELLED are not fatal. */
export function hedging(maxAttempts = 3, options: ConfigOptions = {}): ServiceConfig {
	const hedgingPolicy = { maxAttempts, hedgingDelay: '0.1s', nonFatalStatusCodes: CODES }
	return configOf({ hedgingPolicy }, options)
}
