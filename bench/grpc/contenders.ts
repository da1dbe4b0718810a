/** How a client is configured. All of them make the same call. */
import * as grpc from '@grpc/grpc-js'
import { retryBudget } from 'yaoki'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'

export interface GrpcContender {
	readonly options: Partial<grpc.ClientOptions>
	/** The deadline of each call; undefined for none. */
	readonly deadlineMs?: number
}

const SERVICE_CONFIG = JSON.stringify({
	methodConfig: [
		{
			name: [{}],
			timeout: '10s',
			retryPolicy: {
				maxAttempts: 3,
				initialBackoff: '0.1s',
				maxBackoff: '1s',
				backoffMultiplier: 2,
				retryableStatusCodes: ['UNAVAILABLE'],
			},
		},
	],
	retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
})

function yaoki(): Partial<grpc.ClientOptions> {
	const config = parseServiceConfig(SERVICE_CONFIG)
	return {
		...resilientChannelOptions(config),
		interceptors: [
			resilientInterceptor(grpc, {
				serviceConfig: config,
				circuitBreaker: {},
				bulkhead: { maxConcurrent: 100 },
				budget: retryBudget(),
			}),
		],
	}
}

const passThrough: grpc.Interceptor = (options, nextCall) => new grpc.InterceptingCall(nextCall(options))

export const BARE = 'bare grpc-js'
export const YAOKI = 'yaoki: retry, breaker, bulkhead, budget, deadline'

export const CONTENDERS: Readonly<Record<string, () => GrpcContender>> = {
	[BARE]: () => ({ options: {} }),
	'bare grpc-js with a deadline': () => ({ options: {}, deadlineMs: 10_000 }),
	'grpc-js, its own retries and a deadline': () => ({
		options: { 'grpc.service_config': SERVICE_CONFIG },
		deadlineMs: 10_000,
	}),
	'grpc-js with an interceptor that does nothing': () => ({ options: { interceptors: [passThrough] } }),
	'the same with a deadline': () => ({ options: { interceptors: [passThrough] }, deadlineMs: 10_000 }),
	[YAOKI]: () => ({ options: yaoki() }),
}
