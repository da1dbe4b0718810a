import { describe, expect, test } from 'vitest'
import { METHODS } from './connect-client.ts'
import { sendThenHang } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'
import { testResponseStreams } from './suites/response-streams.ts'

const shared = useServer()

testResponseStreams(shared, 'connect', METHODS)

describe('a caller that stops reading', () => {
	test('cancels the call and frees the slot by return() of the iterator', async () => {
		const { server } = shared
		const { client, interceptor, events } = useClient(server, { bulkhead: { maxConcurrent: 1 } }, 'grpc', {
			outer: [
				(next) => async (request) => {
					const response = await next(request)
					if (!response.stream) return response
					const iterator = response.message[Symbol.asyncIterator]()
					const first = await iterator.next()
					await iterator.return?.()
					expect(await iterator.next()).toMatchObject({ done: true })
					return {
						...response,
						message: (async function* () {
							if (!first.done) yield first.value
						})(),
					}
				},
			],
		})
		server.play(sendThenHang([{ text: 'a' }]))
		const { items } = await client.invoke('List', {})
		expect(items).toMatchObject([{ text: 'a' }])
		await server.cancelled(1)
		expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
		expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'CANCELLED' })
	})

	test('frees the slot by leaving a loop when the stream is no longer used', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { bulkhead: { maxConcurrent: 1 } })
		server.play(sendThenHang([{ text: 'a' }]))
		const leave = async () => {
			for await (const _ of client.users.list({})) break
		}
		await leave()
		expect(interceptor.stats.bulkhead?.concurrent).toBe(1)
		const seen = await server.called(1)
		const collect = Reflect.get(globalThis, 'gc') as () => void
		while (!seen.isCancelled) {
			collect()
			await new Promise((resolve) => setTimeout(resolve, 5))
		}
		expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
	})

	test('a stream that is waited for is not collected', async () => {
		const { server } = shared
		const { client } = useClient(server)
		const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
		server.play(async function* () {
			yield { text: 'a' }
			await mayEnd
			yield { text: 'b' }
		})
		const call = client.invoke('List', {})
		await server.called(1)
		const collect = Reflect.get(globalThis, 'gc') as () => void
		for (let n = 0; n < 5; n++) {
			collect()
			await new Promise((resolve) => setTimeout(resolve, 5))
		}
		end()
		expect((await call).items).toMatchObject([{ text: 'a' }, { text: 'b' }])
	})
})
