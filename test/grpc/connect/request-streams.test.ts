import { create } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { type ItemInit, ItemSchema } from '../support/users.ts'
import { hedging, retrying } from './configs.ts'
import { echo, fail, reply } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'

const shared = useServer()

const STREAMING = ['Upload', 'Chat'] as const

/** Messages that a test sends one by one. */
function manual() {
	const waiting: { resolve(result: IteratorResult<ItemInit>): void; reject(error: unknown): void }[] = []
	const items: IteratorResult<ItemInit>[] = []
	const state = { reads: 0 }
	const push = (result: IteratorResult<ItemInit>) => {
		const next = waiting.shift()
		if (next) next.resolve(result)
		else items.push(result)
	}
	const iterator: AsyncIterator<ItemInit> = {
		next() {
			state.reads++
			const item = items.shift()
			if (item) return Promise.resolve(item)
			return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
		},
	}
	return {
		items: { [Symbol.asyncIterator]: () => iterator },
		state,
		send: (value: ItemInit) => push({ done: false, value }),
		end: () => push({ done: true, value: undefined }),
	}
}

describe.each(STREAMING)('%s', (method) => {
	test('sends a message that the caller changes and yields again as it was', async () => {
		const { server } = shared
		const { client } = useClient(server, { serviceConfig: retrying() })
		server.play([fail(Code.Unavailable), reply({})])
		async function* messages() {
			const item = create(ItemSchema, { data: new Uint8Array(1) })
			for (item.count = 1; item.count <= 3; item.count++) {
				item.data[0] = item.count
				yield item
			}
		}
		await client.invoke(method, messages())
		for (const call of server.calls)
			expect(call.messages).toMatchObject([1, 2, 3].map((n) => ({ count: n, data: new Uint8Array([n]) })))
		expect(server.calls).toHaveLength(2)
	})

	test('retries while the caller is still sending', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		server.play([fail(Code.Unavailable, { readsAll: false }), reply({ text: 'a' })])
		const request = manual()
		const call = client.invoke(method, request.items)
		request.send({ text: 'q' })
		await server.called(2)
		request.send({ text: 'r' })
		request.end()
		const { items, error } = await call
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'a' }])
		expect(server.calls[1]?.messages).toMatchObject([{ text: 'q' }, { text: 'r' }])
		expect(interceptor.stats).toMatchObject({ bufferedBytes: 0 })
	})

	test('a message above the buffer commits the call', async () => {
		const { server } = shared
		const { client, events, interceptor } = useClient(server, {
			serviceConfig: retrying(),
			maxBufferBytesPerCall: 100,
		})
		server.play(fail(Code.Unavailable))
		const { error } = await client.invoke(method, [
			{ text: 'q' },
			{ data: new Uint8Array(200) },
			{ text: 'r' },
		])
		expect(error?.code).toBe(Code.Unavailable)
		expect(server.calls).toMatchObject([{ messages: [{ text: 'q' }, {}, { text: 'r' }] }])
		expect(explain(error)).toMatchObject({ stop: 'committed' })
		expect(events.at(-1)).toMatchObject({ type: 'call', grpcCommittedBy: 'buffer' })
		expect(interceptor.stats.bufferedBytes).toBe(0)
	})

	test('the buffer of all calls together is limited', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { serviceConfig: retrying(), maxBufferBytes: 150 })
		const { promise: isFull, resolve: fill } = Promise.withResolvers<void>()
		server.play(reply({}, { after: isFull }))
		const first = manual()
		const held = client.invoke(method, first.items)
		first.send({ data: new Uint8Array(100) })
		const { messages } = await server.called(1)
		await server.until('the first message', () => messages.length === 1)
		expect(interceptor.stats.bufferedBytes).toBeGreaterThanOrEqual(100)
		const second = manual()
		const other = client.invoke(method, second.items)
		second.send({ data: new Uint8Array(100) })
		const late = await server.called(2)
		await server.until('the second message', () => late.messages.length === 1)
		expect(interceptor.stats.bufferedBytes).toBeLessThan(150)
		first.end()
		second.end()
		fill()
		await Promise.all([held, other])
		expect(interceptor.stats).toMatchObject({ bufferedBytes: 0, failures: 0 })
	})

	test('a message that the caller sends after the end of the call is not kept', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		server.play(fail(Code.NotFound, { readsAll: false }))
		const request = manual()
		const { error } = await client.invoke(method, request.items)
		expect(error?.code).toBe(Code.NotFound)
		request.send({ data: new Uint8Array(100) })
		await new Promise((resolve) => setImmediate(resolve))
		expect(interceptor.stats.bufferedBytes).toBe(0)
	})

	test('a response that ends before the request ends the call', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
		server.play(async function* () {
			yield { text: 'a' }
		})
		const request = manual()
		const { items, error } = await client.invoke(method, request.items)
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'a' }])
		for (let n = 0; n < 3; n++) {
			request.send({ data: new Uint8Array(100) })
			await new Promise((resolve) => setImmediate(resolve))
		}
		expect(request.state.reads).toBeLessThanOrEqual(1)
		expect(interceptor.stats.bufferedBytes).toBe(0)
	})

	test('an error of the caller ends the call and is not retried', async () => {
		const { server } = shared
		const { client } = useClient(server, { serviceConfig: retrying({ codes: ['INTERNAL', 'UNKNOWN'] }) })
		server.play(reply({}))
		async function* broken(): AsyncGenerator<ItemInit> {
			yield { text: 'q' }
			await server.called(1)
			throw new Error('no more messages')
		}
		const { error } = await client.invoke(method, broken())
		expect(error?.message).toContain('no more messages')
		expect(explain(error)?.attempts).toHaveLength(1)
	})

	test('reads the messages of the caller when the transport can send them', async () => {
		const { server } = shared
		const { client } = useClient(server, { serviceConfig: retrying({ codes: ['UNAVAILABLE'] }) })
		const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
		server.play(async function* ({ readAll }) {
			await isRead
			await readAll()
			yield {}
		})
		let sent = 0
		async function* messages(): AsyncGenerator<ItemInit> {
			// 100 messages of 64 kB, and a window of HTTP/2 of 64 kB.
			for (; sent < 100; sent++) yield { data: new Uint8Array(65_536) }
		}
		const call = client.invoke(method, messages())
		await server.called(1)
		for (let before = -1; before !== sent; ) {
			before = sent
			await new Promise((resolve) => setTimeout(resolve, 20))
		}
		expect(sent).toBeLessThan(20)
		read()
		expect((await call).error).toBeUndefined()
		expect(server.calls[0]?.messages).toHaveLength(100)
	})
})

test('hedged attempts of a stream share the messages, and the other attempts are cancelled', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, { serviceConfig: hedging({ maxAttempts: 3 }) })
	const { promise: mayReply, resolve: respond } = Promise.withResolvers<void>()
	const slow = reply({ text: 'slow' }, { after: new Promise(() => {}) })
	server.play([slow, reply({ text: 'fast' }, { after: mayReply }), slow])
	const request = manual()
	const call = client.invoke('Chat', request.items)
	await server.called(3)
	request.send({ text: 'q' })
	request.send({ text: 'r' })
	request.end()
	await server.until('all messages', () => server.calls.every(({ isHalfClosed }) => isHalfClosed))
	respond()
	const { items } = await call
	expect(items).toMatchObject([{ text: 'fast' }])
	for (const { messages } of server.calls) expect(messages).toMatchObject([{ text: 'q' }, { text: 'r' }])
	// One read for each message and one for the end, whatever the number of attempts.
	expect(request.state.reads).toBe(3)
	await server.cancelled(1)
	await server.cancelled(3)
	expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 3, failures: 0, bufferedBytes: 0 })
})

test('a message above the buffer commits a hedged call to the attempt that has sent the most', async () => {
	const { server } = shared
	const { client } = useClient(server, {
		serviceConfig: hedging({ maxAttempts: 2 }),
		maxBufferBytesPerCall: 100,
	})
	server.play(reply({ text: 'a' }))
	const request = manual()
	const call = client.invoke('Upload', request.items)
	await server.called(2)
	request.send({ text: 'q' })
	await server.until('the first message', () => server.calls.every(({ messages }) => messages.length === 1))
	request.send({ data: new Uint8Array(200) })
	request.end()
	const { items, error } = await call
	expect(error).toBeUndefined()
	expect(items).toMatchObject([{ text: 'a' }])
	await server.until('the end of both', () => server.calls.every(({ isEnded }) => isEnded))
	expect(server.calls.map(({ messages }) => messages.length).toSorted()).toEqual([1, 2])
})

test('a conversation goes on while messages are kept', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, { serviceConfig: retrying() })
	server.play([fail(Code.Unavailable, { readsAll: false }), echo()])
	const request = manual()
	const seen: string[] = []
	const call = client.invoke('Chat', request.items, {
		onItem: ({ text }) => {
			seen.push(text)
			if (text === 'a') request.send({ text: 'b' })
			else request.end()
		},
	})
	request.send({ text: 'a' })
	const { error } = await call
	expect(error).toBeUndefined()
	expect(seen).toEqual(['a', 'b'])
	expect(interceptor.stats).toMatchObject({ attempts: 2, bufferedBytes: 0 })
})
