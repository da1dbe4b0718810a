/** The usage of the README and the guide, on a real server. */
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explain, retryBudget } from 'yaoki'
import { parseServiceConfig, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import type { MethodName } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'

const config = parseServiceConfig(
	JSON.stringify({
		methodConfig: [
			{
				name: [{ service: 'yaoki.test.Users' }],
				timeout: '60s',
				retryPolicy: {
					maxAttempts: 3,
					initialBackoff: '0.001s',
					maxBackoff: '0.002s',
					backoffMultiplier: 2,
					retryableStatusCodes: ['UNAVAILABLE'],
				},
			},
		],
		retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
	}),
)

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

function useClient() {
	const interceptor = resilientInterceptor(grpc, {
		serviceConfig: config,
		circuitBreaker: {},
		bulkhead: {},
		budget: retryBudget(),
	})
	const client = useUsersClient(server.address, {
		...resilientChannelOptions(config),
		interceptors: [interceptor],
	})
	return { client, interceptor }
}

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

describe.each(METHODS)('the usage as written: %s', (method) => {
	test('returns the response of the first attempt', async () => {
		const { client, interceptor } = useClient()
		server.play(reply({ text: 'a' }, { headers: { 'x-h': '1' }, trailers: { 'x-t': '2' } }))
		const { items, status, headers } = await client.invoke(method, { text: 'q' }).done
		expect(items).toMatchObject([{ text: 'a' }])
		expect(status.code).toBe(0)
		expect(headers?.get('x-h')).toEqual(['1'])
		expect(status.metadata.get('x-t')).toEqual(['2'])
		expect(server.calls).toMatchObject([{ messages: [{ text: 'q' }], isHalfClosed: true }])
		expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 1, failures: 0, bufferedBytes: 0 })
	})

	test('retries with all messages and counts the attempts before', async () => {
		const { client, interceptor } = useClient()
		server.play([fail(14), fail(14), reply({ text: 'a' })])
		const messages =
			method === 'Upload' || method === 'Chat' ? [{ text: 'q' }, { text: 'r' }] : [{ text: 'q' }]
		const { items, status } = await client.invoke(method, messages).done
		expect(status.code).toBe(0)
		expect(items).toMatchObject([{ text: 'a' }])
		expect(server.calls.map(({ previousAttempts }) => previousAttempts)).toEqual([undefined, '1', '2'])
		for (const call of server.calls) expect(call).toMatchObject({ messages, isHalfClosed: true })
		expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 0, bufferedBytes: 0 })
	})

	test('ends with the last status, and explain shows the attempts', async () => {
		const { client, interceptor } = useClient()
		server.play(fail(14, { details: 'down', trailers: { 'x-t': '2' } }))
		const { error, status } = await client.invoke(method, {}).done
		expect(error).toMatchObject({ code: 14, details: 'down' })
		expect(status.metadata.get('x-t')).toEqual(['2'])
		expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
		expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 1, bufferedBytes: 0 })
	})
})
