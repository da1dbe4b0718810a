import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import type { MethodName } from '../../support/users.ts'
import { hedging } from '../configs.ts'
import type { TransportName } from '../connect-client.ts'
import { fail, hang, reply } from '../connect-server.ts'
import { type Shared, useClient } from '../setup.ts'

/** Hedging with one transport, which supports these methods. */
export function testHedging(shared: Shared, transport: TransportName, methods: readonly MethodName[]): void {
	describe(`hedging with ${transport}`, () => {
		describe.each(methods)('%s', (method) => {
			test('returns the first response and cancels the other attempts', async () => {
				const { server } = shared
				const { client, interceptor } = useClient(
					server,
					{ serviceConfig: hedging({ maxAttempts: 3 }) },
					transport,
				)
				const { promise: areThree, resolve: reply3 } = Promise.withResolvers<void>()
				server.play([hang(), reply({ text: 'b' }, { after: areThree }), hang()])
				const call = client.invoke(method, { text: 'q' })
				await server.called(3)
				reply3()
				const { items, error } = await call
				expect(error).toBeUndefined()
				expect(items).toMatchObject([{ text: 'b' }])
				await server.cancelled(1)
				await server.cancelled(3)
				expect(server.calls.map(({ previousAttempts }) => previousAttempts)).toEqual([undefined, '1', '2'])
				expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 0, bufferedBytes: 0 })
			})

			test('a non-fatal code sends the next request immediately', async () => {
				const { server } = shared
				const { client } = useClient(server, { serviceConfig: hedging({ hedgingDelay: '60s' }) }, transport)
				server.play([fail(Code.Unavailable), reply({ text: 'b' })])
				const { items } = await client.invoke(method, {})
				expect(items).toMatchObject([{ text: 'b' }])
				expect(server.calls).toHaveLength(2)
			})

			test('any other code ends the call', async () => {
				const { server } = shared
				const { client } = useClient(server, { serviceConfig: hedging({ maxAttempts: 2 }) }, transport)
				const { promise: areTwo, resolve: failNow } = Promise.withResolvers<void>()
				server.play([hang(), fail(Code.InvalidArgument, { after: areTwo })])
				const call = client.invoke(method, {})
				await server.called(2)
				failNow()
				expect((await call).error?.code).toBe(Code.InvalidArgument)
				await server.cancelled(1)
			})
		})
	})
}
