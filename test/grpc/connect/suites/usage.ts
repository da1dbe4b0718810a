/** The usage of the README and the guide, with one transport of Connect on real servers. */
import * as connect from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { explain, retryBudget } from 'yaoki'
import { resilientConnectInterceptor } from 'yaoki/grpc'
import type { MethodName } from '../../support/users.ts'
import { retrying } from '../configs.ts'
import { type TransportName, useConnectClient } from '../connect-client.ts'
import { fail, reply } from '../connect-server.ts'
import type { Shared } from '../setup.ts'

const { Code } = connect

function useClient({ server }: Shared, transport: TransportName) {
	const interceptor = resilientConnectInterceptor(connect, {
		serviceConfig: retrying({ throttling: { maxTokens: 10, tokenRatio: 0.1 } }),
		circuitBreaker: {},
		bulkhead: {},
		budget: retryBudget(),
	})
	return { client: useConnectClient(transport, server, interceptor), interceptor }
}

export function testUsage(shared: Shared, transport: TransportName, methods: readonly MethodName[]): void {
	describe.each(methods)(`the usage as written with ${transport}: %s`, (method) => {
		test('returns the response of the first attempt', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(shared, transport)
			server.play(reply({ text: 'a' }, { headers: { 'x-h': '1' }, trailers: { 'x-t': '2' } }))
			const { items, error, headers, trailers } = await client.invoke(method, { text: 'q' })
			expect(error).toBeUndefined()
			expect(items).toMatchObject([{ text: 'a' }])
			expect(headers?.get('x-h')).toBe('1')
			expect(trailers?.get('x-t')).toBe('2')
			expect(server.calls).toMatchObject([{ messages: [{ text: 'q' }], isHalfClosed: true }])
			expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 1, failures: 0, bufferedBytes: 0 })
			expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
		})

		test('retries with all messages and counts the attempts before', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(shared, transport)
			server.play([fail(Code.Unavailable), fail(Code.Unavailable), reply({ text: 'a' })])
			const messages =
				method === 'Upload' || method === 'Chat' ? [{ text: 'q' }, { text: 'r' }] : [{ text: 'q' }]
			const { items, error } = await client.invoke(method, messages)
			expect(error).toBeUndefined()
			expect(items).toMatchObject([{ text: 'a' }])
			expect(server.calls.map(({ previousAttempts }) => previousAttempts)).toEqual([undefined, '1', '2'])
			for (const call of server.calls) expect(call).toMatchObject({ messages, isHalfClosed: true })
			expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 0, bufferedBytes: 0 })
		})

		test('ends with the last error, and explain shows the attempts', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(shared, transport)
			server.play(fail(Code.Unavailable, { message: 'down', metadata: { 'x-t': '2' } }))
			const { error } = await client.invoke(method, {})
			expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: 'down' })
			expect(error?.metadata.get('x-t')).toBe('2')
			expect(explain(error)).toMatchObject({ stop: 'retries-exhausted', attempts: [{}, {}, {}] })
			expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 1, bufferedBytes: 0 })
			expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
		})
	})
}
