import { parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'

const NAMES = [{ service: 'yaoki.test.Users' }]

interface Common {
	readonly timeout?: string
	readonly throttling?: { readonly maxTokens: number; readonly tokenRatio: number }
}

/** Retries of all methods of the test service, with short backoffs. */
export function retrying({
	timeout,
	throttling,
	...policy
}: Common & {
	readonly maxAttempts?: number
	readonly codes?: readonly string[]
	readonly initialBackoff?: string
} = {}): ServiceConfig {
	const { maxAttempts = 3, codes = ['UNAVAILABLE'], initialBackoff = '0.001s' } = policy
	return parseServiceConfig({
		methodConfig: [
			{
				name: NAMES,
				...(timeout && { timeout }),
				retryPolicy: {
					maxAttempts,
					initialBackoff,
					maxBackoff: initialBackoff,
					backoffMultiplier: 1,
					retryableStatusCodes: codes,
				},
			},
		],
		...(throttling && { retryThrottling: throttling }),
	})
}

/** Hedged requests of all methods. */
export function hedging({
	timeout,
	throttling,
	...policy
}: Common & {
	readonly maxAttempts?: number
	readonly codes?: readonly string[]
	readonly hedgingDelay?: string
} = {}): ServiceConfig {
	const { maxAttempts = 2, codes = ['UNAVAILABLE'], hedgingDelay = '0s' } = policy
	return parseServiceConfig({
		methodConfig: [
			{
				name: NAMES,
				...(timeout && { timeout }),
				hedgingPolicy: { maxAttempts, hedgingDelay, nonFatalStatusCodes: codes },
			},
		],
		...(throttling && { retryThrottling: throttling }),
	})
}

/** Only a timeout. */
export const timingOut = (timeout: string): ServiceConfig =>
	parseServiceConfig({ methodConfig: [{ name: NAMES, timeout }] })
