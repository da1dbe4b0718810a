/** A gRPC client and a server that fails on purpose: waits that the server asks for, a full bulkhead, a failed call with its history, an open circuit. */
import * as grpc from '@grpc/grpc-js'
import { explain } from 'yaoki'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { openUsers, UsersClient } from './grpc/users.ts'

const config = parseServiceConfig({
	methodConfig: [
		{
			name: [{ service: 'shop.Users' }],
			timeout: '10s',
			retryPolicy: {
				maxAttempts: 5,
				initialBackoff: '0.01s',
				maxBackoff: '0.1s',
				backoffMultiplier: 2,
				retryableStatusCodes: ['UNAVAILABLE'],
			},
		},
	],
	retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
})

const server = await openUsers()
const interceptor = resilientInterceptor(grpc, {
	serviceConfig: config,
	circuitBreaker: { failureThreshold: 1 },
	bulkhead: {},
	onRetry: ({ statusName, details }, attempt, delayMs) =>
		console.log(`  attempt ${attempt}: ${statusName} (${details}), retry in ${Math.round(delayMs)} ms`),
})
const users = new UsersClient(server.address, grpc.credentials.createInsecure(), {
	...resilientChannelOptions(config),
	interceptors: [interceptor],
})

// The server fails twice and asks for a wait, which replaces the backoff.
console.log('two failures with pushback:')
server.failWith(30, 20)
console.log(`  ${await users.get('7')}, after ${interceptor.stats.attempts} attempts`)

// The server runs one call at a time. The other one is rejected with a pushback, and retried.
console.log('two calls at the same time:')
console.log(`  ${(await Promise.all([users.get('7'), users.get('8')])).join(' and ')}`)
console.log(`  rejected by the server: ${server.rejected > 0}`)

// A negative pushback means: do not retry.
console.log('a failure that forbids retries:')
server.failWith(-1)
const failed = await users.get('7').catch((error: unknown) => error)
console.log(`  ${failed}`)
console.log(String(explain(failed)).replaceAll(/^/gm, '  '))

// That failure has opened the circuit (failureThreshold: 1), so the next call is not sent.
console.log('an open circuit:')
const rejected = await users.get('7').catch((error: grpc.ServiceError) => error)
console.log(`  ${rejected}`)
if (rejected instanceof Error) console.log(`  caused by a ${(rejected.cause as Error).name}`)

users.close()
server.close()
