/** A message above the client's own limit: no attempt could send it, and the server has not seen it (regression: retried, and a failure of the server). */
import * as connect from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { explain } from 'yaoki'
import {
	type GrpcClientOptions,
	parseServiceConfig,
	resilientConnectInterceptor,
	resilientInterceptor,
} from 'yaoki/grpc'
import { useServer } from '../connect/setup.ts'
import { quickRetry } from '../support/configs.ts'
import { Users } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'

const shared = useServer()
const LIMIT = 1_000
const text = 'x'.repeat(2 * LIMIT)
const circuitBreaker = { failureThreshold: 1 }
const codes = ['RESOURCE_EXHAUSTED']
const configOf = (policy: object) =>
	parseServiceConfig({
		methodConfig: [{ name: [{}], ...policy }],
		retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
	})
const retries = configOf(quickRetry(3, codes))
const hedgingPolicy = { maxAttempts: 3, hedgingDelay: '5s', nonFatalStatusCodes: codes }

async function callGrpcJs(options: GrpcClientOptions) {
	const interceptor = resilientInterceptor(grpc, options)
	const client = useUsersClient(new URL(shared.server.http2Url).host, {
		'grpc.max_send_message_length': LIMIT,
		interceptors: [interceptor],
	})
	const { error } = await client.invoke('Get', { text }).done
	return { error, stats: interceptor.stats }
}

async function callConnect(options: GrpcClientOptions) {
	const interceptor = resilientConnectInterceptor(connect, options)
	const baseUrl = shared.server.http2Url
	const sessionManager = new Http2SessionManager(baseUrl)
	onTestFinished(() => sessionManager.abort())
	const transport = createGrpcTransport({
		baseUrl,
		sessionManager,
		writeMaxBytes: LIMIT,
		interceptors: [interceptor],
	})
	const error: unknown = await connect
		.createClient(Users, transport)
		.get({ text })
		.catch((thrown: unknown) => thrown)
	return { error, stats: interceptor.stats }
}

describe.each([
	['grpc-js', callGrpcJs],
	['Connect', callConnect],
])('a message above the limit of %s', (_, call) => {
	test.each([
		['retries', retries],
		['hedging', configOf({ hedgingPolicy })],
		['no policy', configOf({})],
	])('with %s is sent once, and does not count for the circuit', async (_name, serviceConfig) => {
		const { error, stats } = await call({ serviceConfig, circuitBreaker })
		expect(error).toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED })
		expect(stats.attempts).toBe(1)
		expect(stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 0 })
		expect(stats.throttling).toMatchObject({ tokens: 10 })
	})

	test('is permanent for explain', async () => {
		const { error } = await call({ serviceConfig: retries })
		expect(explain(error)).toMatchObject({ attempts: [{ outcome: 'permanent' }] })
	})
})
