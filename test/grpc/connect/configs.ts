import { parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'

const NAMES = [{ service: 'yaoki.test.Users' }]

interface Common {
	readonly timeout?: string
	readonly throttling?: { readonly maxTokens: number; readonly tokenRatio: number }
	readonly maxAttempts?: number
	readonly codes?: readonly string[]
}

function configOf(policy: object, { timeout, throttling }: Common): ServiceConfig {
	return parseServiceConfig({
		methodConfig: [{ name: NAMES, ...(timeout && { timeout }), ...policy }],
		...(throttling && { retryThrottling: throttling }),
	})
}

/** Retries of all methods of the test service, with short backoffs. */
export function retrying(options: Common & { readonly initialBackoff?: string } = {}): ServiceConfig {
	const { maxAttempts = 3, codes = ['UNAVAILABLE'], initialBackoff = '0.001s' } = options
	const retryPolicy = {
		maxAttempts,
		initialBackoff,
		maxBackoff: initialBackoff,
		backoffMultiplier: 1,
		retryableStatusCodes: codes,
	}
	return configOf({ retryPolicy }, options)
}

/** Hedged requests of all methods. */
export function hedging(options: Common & { readonly hedgingDelay?: string } = {}): ServiceConfig {
	const { maxAttempts = 2, codes = ['UNAVAILABLE'], hedgingDelay = '0s' } = options
	return configOf({ hedgingPolicy: { maxAttempts, hedgingDelay, nonFatalStatusCodes: codes } }, options)
}

/** Only a timeout. */
export const timingOut = (timeout: string): ServiceConfig => configOf({}, { timeout })
