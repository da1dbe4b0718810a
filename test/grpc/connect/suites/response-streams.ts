import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { MethodName } from '../../support/users.ts'
import { retrying } from '../configs.ts'
import type { TransportName } from '../connect-client.ts'
import { fail, reply } from '../connect-server.ts'
import { type Shared, useClient } from '../setup.ts'

/** A response stream with one transport, which supports these methods. */
export function testResponseStreams(
	shared: Shared,
	transport: TransportName,
	methods: readonly MethodName[],
): void {
	describe(`a response stream with ${transport}`, () => {
		const streaming = methods.filter((method) => method === 'List' || method === 'Chat')

		test.each(streaming)('%s: an error after a message is not retried', async (method) => {
			const { server } = shared
			const { client, interceptor, events } = useClient(server, { serviceConfig: retrying() }, transport)
			server.play(fail(Code.Unavailable, { items: [{ text: 'a' }], message: 'down' }))
			const { items, error } = await client.invoke(method, {})
			expect(items).toMatchObject([{ text: 'a' }])
			expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: 'down' })
			expect(server.calls).toHaveLength(1)
			expect(explain(error)).toMatchObject({ stop: 'committed' })
			expect(events.at(-1)).toMatchObject({ type: 'call', outcome: 'failure', grpcStatus: 'UNAVAILABLE' })
			expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1, attempts: 1 })
		})

		test('an error in the middle counts for the breaker', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(
				server,
				{ circuitBreaker: { failureThreshold: 2 } },
				transport,
			)
			server.play(fail(Code.Unavailable, { items: [{ text: 'a' }] }))
			for (let n = 0; n < 2; n++) await client.invoke('List', {})
			expect(interceptor.stats.circuits).toMatchObject({ '': { state: 'open' } })
		})

		test('an empty stream is a response', async () => {
			const { server } = shared
			const { client } = useClient(server, { serviceConfig: retrying() }, transport)
			server.play(reply([]))
			expect(await client.invoke('List', {})).toMatchObject({ items: [], error: undefined })
		})

		test('a slow consumer receives everything, and the slot is held until the end', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(
				server,
				{ serviceConfig: retrying(), bulkhead: { maxConcurrent: 1 } },
				transport,
			)
			let sent = 0
			server.play(async function* () {
				for (; sent < 60; sent++) yield { count: sent, data: new Uint8Array(65_536) }
			})
			const slots: unknown[] = []
			const { items, error } = await client.invoke(
				'List',
				{},
				{
					onItem: async () => {
						slots.push(interceptor.stats.bulkhead?.concurrent)
						await new Promise((resolve) => setImmediate(resolve))
					},
				},
			)
			expect(error).toBeUndefined()
			expect(items.map(({ count }) => count)).toEqual(Array.from({ length: 60 }, (_, n) => n))
			expect(new Set(slots)).toEqual(new Set([1]))
			expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
		})

		test('reads at most one message more than the caller', async () => {
			const { server } = shared
			let reads = 0
			const { client } = useClient(server, { serviceConfig: retrying() }, transport, {
				inner: [
					(next) => async (request) => {
						const response = await next(request)
						if (!response.stream) return response
						const iterator = response.message[Symbol.asyncIterator]()
						const message = {
							[Symbol.asyncIterator]: () => ({
								next: () => {
									reads++
									return iterator.next()
								},
							}),
						}
						return { ...response, message }
					},
				],
			})
			server.play(reply([{}, {}, {}, {}]))
			const seen: number[] = []
			await client.invoke(
				'List',
				{},
				{
					onItem: async () => {
						await new Promise((resolve) => setImmediate(resolve))
						seen.push(reads)
					},
				},
			)
			expect(seen).toEqual([1, 2, 3, 4])
		})
	})
}
