import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { runWithContext } from 'yaoki/node'
import type { MethodName } from '../../support/users.ts'
import { retrying } from '../configs.ts'
import type { TransportName } from '../connect-client.ts'
import { fail, hang, reply, sendThenHang } from '../connect-server.ts'
import { type Shared, useClient } from '../setup.ts'

/** Cancellation with one transport, which supports these methods. */
export function testCancellation(
	shared: Shared,
	transport: TransportName,
	methods: readonly MethodName[],
): void {
	describe(`cancellation with ${transport}`, () => {
		describe.each(methods)('%s', (method) => {
			test('ends a wait for a retry immediately', async () => {
				const { server } = shared
				const controller = new AbortController()
				const { client, events, interceptor } = useClient(
					server,
					{
						serviceConfig: retrying({ initialBackoff: '1000s' }),
						onRetry: () => setTimeout(() => controller.abort(), 0),
					},
					transport,
				)
				server.play(fail(Code.Unavailable))
				const { error } = await client.invoke(method, {}, { signal: controller.signal })
				expect(error?.code).toBe(Code.Canceled)
				expect(server.calls).toHaveLength(1)
				expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'CANCELLED' })
				expect(interceptor.stats).toMatchObject({ failures: 1, bufferedBytes: 0 })
			})

			test('ends a request', async () => {
				const { server } = shared
				const controller = new AbortController()
				const { client, interceptor } = useClient(
					server,
					{ serviceConfig: retrying(), bulkhead: {} },
					transport,
				)
				server.play(hang())
				const call = client.invoke(method, {}, { signal: controller.signal })
				await server.called(1)
				controller.abort()
				expect((await call).error?.code).toBe(Code.Canceled)
				await server.cancelled(1)
				expect(interceptor.stats).toMatchObject({
					attempts: 1,
					bufferedBytes: 0,
					bulkhead: { concurrent: 0 },
				})
			})

			test('sends nothing before the call', async () => {
				const { server } = shared
				const { client, interceptor } = useClient(server, { serviceConfig: retrying() }, transport)
				server.play(reply({}))
				const { error } = await client.invoke(method, {}, { signal: AbortSignal.abort() })
				expect(error?.code).toBe(Code.Canceled)
				expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 0, failures: 1, bufferedBytes: 0 })
			})

			test('ends the call if the parent call is cancelled', async () => {
				const { server } = shared
				const { client, interceptor } = useClient(server, { serviceConfig: retrying() }, transport)
				server.play(hang())
				const controller = new AbortController()
				const call = runWithContext({ signal: controller.signal }, () => client.invoke(method, {}))
				await server.called(1)
				const reason = new Error('the request was closed')
				controller.abort(reason)
				const { error } = await call
				expect(error).toMatchObject({ code: Code.Canceled, cause: reason })
				expect(explain(error)).toMatchObject({ stop: 'abort' })
				await server.cancelled(1)
				expect(interceptor.stats.circuits).toMatchObject({ '': { failureCount: 0 } })
			})
		})

		test('ends a stream that is being read', async () => {
			const { server } = shared
			const controller = new AbortController()
			const { client, interceptor } = useClient(
				server,
				{ serviceConfig: retrying(), bulkhead: {} },
				transport,
			)
			server.play(sendThenHang([{ text: 'a' }]))
			const { items, error } = await client.invoke(
				'List',
				{},
				{ signal: controller.signal, onItem: () => controller.abort() },
			)
			expect(items).toHaveLength(1)
			expect(error?.code).toBe(Code.Canceled)
			await server.cancelled(1)
			expect(interceptor.stats).toMatchObject({ failures: 1, bulkhead: { concurrent: 0 } })
			expect(interceptor.stats.circuits).toMatchObject({ '': { failureCount: 0 } })
		})
	})
}
