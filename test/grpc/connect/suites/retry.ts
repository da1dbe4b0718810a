import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { MethodName } from '../../support/users.ts'
import { retrying } from '../configs.ts'
import type { TransportName } from '../connect-client.ts'
import { fail, reply } from '../connect-server.ts'
import { type Shared, useClient } from '../setup.ts'

/** Retries with one transport, which supports these methods. */
export function testRetries(shared: Shared, transport: TransportName, methods: readonly MethodName[]): void {
	describe(`retries with ${transport}`, () => {
		describe.each(methods)('%s', (method) => {
			test('does not retry a code that the policy does not name', async () => {
				const { server } = shared
				const { client } = useClient(server, { serviceConfig: retrying() }, transport)
				server.play(fail(Code.Internal))
				const { error } = await client.invoke(method, {})
				expect(error?.code).toBe(Code.Internal)
				expect(server.calls).toHaveLength(1)
				expect(explain(error)).toMatchObject({ stop: 'should-retry-false' })
			})

			test('waits as long as the server asks for in the metadata of the error', async () => {
				const { server } = shared
				const { client, events } = useClient(
					server,
					{ serviceConfig: retrying({ initialBackoff: '60s' }) },
					transport,
				)
				server.play([fail(Code.Unavailable, { pushback: '3' }), reply({ text: 'a' })])
				const { items } = await client.invoke(method, {})
				expect(items).toMatchObject([{ text: 'a' }])
				expect(events.filter(({ type }) => type === 'retry_attempt')).toMatchObject([{ delayMs: 3 }])
			})

			test('waits as long as the server asks for in its trailers', async () => {
				const { server } = shared
				const { client } = useClient(
					server,
					{ serviceConfig: retrying({ initialBackoff: '60s' }) },
					transport,
				)
				server.play([
					fail(Code.Unavailable, { trailers: { 'grpc-retry-pushback-ms': '0' } }),
					reply({ text: 'a' }),
				])
				expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
			})

			test.each(['-1', 'soon', '', '01', '2147483648'])(
				'does not retry after the pushback %j',
				async (pushback) => {
					const { server } = shared
					const { client } = useClient(server, { serviceConfig: retrying() }, transport)
					server.play(fail(Code.Unavailable, { pushback }))
					const { error } = await client.invoke(method, {})
					expect(error?.code).toBe(Code.Unavailable)
					expect(server.calls).toHaveLength(1)
					expect(explain(error)).toMatchObject({ stop: 'server-veto' })
				},
			)
		})
	})
}
