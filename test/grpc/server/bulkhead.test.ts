import { describe, expect, test } from 'vitest'
import { getGrpcContext } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import { deferred } from '../../http/deferred.ts'
import { frameOf, useRawClient } from '../support/raw-client.ts'
import { useUsersClient } from '../support/users-client.ts'
import { hang, reply, type Step } from '../support/users-server.ts'
import { METHODS, useServer } from './setup.ts'

/** A step that responds when the test says so. */
function heldReply(text: string): { readonly step: Step; release(): void } {
	const held = deferred()
	return { step: reply({ text }, { after: held.promise }), release: () => held.resolve() }
}

describe.each(METHODS)('%s', (method) => {
	test('a full bulkhead rejects with UNAVAILABLE and pushback, and the handler is not started', async () => {
		const { server, client, interceptor, events } = await useServer({
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		})
		const first = heldReply('first')
		server.play(first.step)
		const running = client.invoke(method, {})
		await server.called(1)
		const { status, items } = await client.invoke(method, {}).done
		expect(status.code).toBe(14)
		expect(Number(status.metadata.get('grpc-retry-pushback-ms')[0])).toBeGreaterThanOrEqual(400)
		expect(items).toEqual([])
		expect(server.calls).toHaveLength(1)
		expect(interceptor.stats).toMatchObject({ calls: 2, rejected: 1, bulkhead: { concurrent: 1 } })
		expect(events).toMatchObject([
			{
				type: 'rejected',
				reason: 'bulkhead-full',
				grpcService: 'yaoki.test.Users',
				method,
				emitter: 'bulkhead',
			},
			{
				type: 'call',
				outcome: 'rejected',
				grpcStatus: 'UNAVAILABLE',
				grpcService: 'yaoki.test.Users',
				method,
			},
		])
		first.release()
		expect((await running.done).status.code).toBe(0)
	})

	test('a client with a retry policy of A6 retries after the pushback', async () => {
		const { server, interceptor } = await useServer({
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
			pushbackMs: () => 1,
		})
		const retryPolicy = {
			maxAttempts: 5,
			initialBackoff: '3600s',
			maxBackoff: '3600s',
			backoffMultiplier: 1,
			retryableStatusCodes: ['UNAVAILABLE'],
		}
		const client = useUsersClient(server.address, {
			'grpc.service_config': JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy }] }),
		})
		const first = heldReply('first')
		server.play([first.step, reply({ text: 'second' })])
		const running = client.invoke(method, {})
		await server.called(1)
		// The slot becomes free after the first rejection. The backoff of the policy would be an hour.
		const unsubscribe = interceptor.subscribe(({ type }) => {
			if (type !== 'rejected') return
			unsubscribe()
			first.release()
		})
		const second = await client.invoke(method, {}).done
		expect(second).toMatchObject({ status: { code: 0 }, items: [{ text: 'second' }] })
		expect(server.calls[1]?.previousAttempts).toMatch(/^[1-4]$/)
		await running.done
	})

	test('queued calls start in the order of arrival, with all their messages', async () => {
		const { server, client, until } = await useServer({ bulkhead: { maxConcurrent: 1 } })
		const first = heldReply('first')
		server.play([first.step, reply({ text: 'second' }), reply({ text: 'third' })])
		const calls = [client.invoke(method, {})]
		await server.called(1)
		const items = [{ text: 'a' }, { text: 'b' }, { text: 'c' }]
		for (const queued of [1, 2]) {
			calls.push(client.invoke(method, items))
			await until('the queue', ({ bulkhead }) => bulkhead?.queued === queued)
		}
		expect(server.calls).toHaveLength(1)
		first.release()
		const texts: unknown[] = []
		for (const call of calls) texts.push((await call.done).items[0]?.text)
		expect(texts).toEqual(['first', 'second', 'third'])
		const sent = method === 'Upload' || method === 'Chat' ? items : items.slice(0, 1)
		expect(server.calls[1]).toMatchObject({ messages: sent, isHalfClosed: true })
		await until('free slots', ({ bulkhead }) => bulkhead?.concurrent === 0)
	})

	test('a queued call that is cancelled leaves the queue, and its handler is never started', async () => {
		const { server, client, interceptor, until } = await useServer({ bulkhead: { maxConcurrent: 1 } })
		const first = heldReply('first')
		server.play(first.step)
		const running = client.invoke(method, {})
		await server.called(1)
		const queued = client.invoke(method, {})
		await until('the queue', ({ bulkhead }) => bulkhead?.queued === 1)
		queued.cancel()
		await until('an empty queue', ({ bulkhead }) => bulkhead?.queued === 0)
		first.release()
		await running.done
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
		expect(server.calls).toHaveLength(1)
		expect(interceptor.stats).toMatchObject({ cancelled: 1, rejected: 0, failures: 0 })
	})

	test('a client that disconnects leaves the queue', async () => {
		const { server, client, until } = await useServer({ bulkhead: { maxConcurrent: 1 } })
		const first = heldReply('first')
		server.play(first.step)
		const running = client.invoke(method, {})
		await server.called(1)
		const other = useRawClient(server.address)
		other.call(method)
		await until('the queue', ({ bulkhead }) => bulkhead?.queued === 1)
		other.session.destroy()
		await until('an empty queue', ({ bulkhead }) => bulkhead?.queued === 0)
		first.release()
		await running.done
		expect(server.calls).toHaveLength(1)
	})

	test('a deadline that passes in the queue is DEADLINE_EXCEEDED without a handler', async () => {
		const clock = virtualRuntime()
		const { server, client, interceptor, until } = await useServer({
			bulkhead: { maxConcurrent: 1 },
			defaultDeadlineMs: 100,
			runtime: clock,
		})
		const first = heldReply('first')
		server.play(first.step)
		const running = client.invoke(method, {}, { deadline: Date.now() + 600_000 })
		await server.called(1)
		const queued = client.invoke(method, {})
		await until('the queue', ({ bulkhead }) => bulkhead?.queued === 1)
		await clock.advance(100)
		expect((await queued.done).status.code).toBe(4)
		expect(interceptor.stats).toMatchObject({ rejected: 1, bulkhead: { concurrent: 1, queued: 0 } })
		first.release()
		expect((await running.done).status.code).toBe(0)
		expect(server.calls).toHaveLength(1)
	})

	test('a handler that outlives its call keeps its slot until it calls its callback, or a second', async () => {
		const clock = virtualRuntime()
		const { server, client, interceptor, until } = await useServer({
			bulkhead: { maxConcurrent: 1 },
			runtime: clock,
		})
		const late = deferred()
		server.play(async (exchange) => {
			await late.promise
			exchange.send({})
			exchange.end()
		})
		const call = client.invoke(method, {})
		await server.called(1)
		call.cancel()
		await server.cancelled(1)
		await clock.advance(999)
		expect(interceptor.stats).toMatchObject({ inFlight: 0, bulkhead: { concurrent: 1 } })
		// The response stream of a cancelled call is destroyed, so its handler can no longer report its end.
		if (method === 'List' || method === 'Chat') await clock.advance(1)
		late.resolve()
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
	})

	test('a handler that never ends gives its slot back after abandonAfterMs of the bulkhead', async () => {
		const clock = virtualRuntime()
		const { server, client, interceptor, until } = await useServer({
			bulkhead: { maxConcurrent: 1, abandonAfterMs: 5_000 },
			defaultDeadlineMs: 100,
			runtime: clock,
		})
		server.play([hang(), reply({})])
		const call = client.invoke(method, {})
		await server.called(1)
		await clock.advance(100)
		expect((await call.done).status.code).toBe(4)
		const next = client.invoke(method, {})
		await until('the queue', ({ bulkhead }) => bulkhead?.queued === 1)
		await clock.advance(4_999)
		expect(interceptor.stats.bulkhead?.concurrent).toBe(1)
		await clock.advance(1)
		await until('a free slot', ({ bulkhead }) => bulkhead?.queued === 0)
		await next.done
	})

	test('a handler that ends its context frees its slot', async () => {
		const clock = virtualRuntime()
		const { server, client, until } = await useServer({ bulkhead: { maxConcurrent: 1 }, runtime: clock })
		server.play((exchange) => {
			const context = getGrpcContext(exchange.call)
			context?.signal.addEventListener('abort', () => context.end())
		})
		const call = client.invoke(method, {})
		await server.called(1)
		call.cancel()
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
	})
})

test('a streaming call holds its slot until its status', async () => {
	const { server, client, until } = await useServer({ bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
	const end = deferred()
	server.play(async (exchange) => {
		exchange.send({ text: 'first' })
		await end.promise
		exchange.end()
	})
	const call = client.invoke('Chat', [{ text: 'a' }], { leaveOpen: true })
	await call.received(1)
	expect((await client.invoke('Get', {}).done).status.code).toBe(14)
	end.resolve()
	await call.done
	await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
})

test('a queued stream is held back by flow control, not by a buffer', async () => {
	const { server, client, until } = await useServer({ bulkhead: { maxConcurrent: 1 } })
	const first = heldReply('first')
	server.play([first.step, reply({ text: 'second' })])
	const running = client.invoke('Get', {})
	await server.called(1)
	const raw = useRawClient(server.address).call('Upload')
	const size = 60_000
	const count = 100
	let accepted = 0
	for (let i = 0; i < count; i++)
		raw.stream.write(frameOf({ count: i, data: new Uint8Array(size) }), () => accepted++)
	raw.halfClose()
	await until('the queue', ({ bulkhead }) => bulkhead?.queued === 1)
	expect(accepted * size).toBeLessThan(1_000_000)
	first.release()
	expect(await raw.trailers).toMatchObject({ 'grpc-status': '0' })
	expect(server.calls[1]?.messages.map((item) => item.count)).toEqual(
		Array.from({ length: count }, (_, i) => i),
	)
	await running.done
})

test('a handler that does not read holds the client back', async () => {
	const { server } = await useServer({ bulkhead: {} })
	const go = deferred()
	const texts: number[] = []
	server.handle('Upload', (call, callback) => {
		if (!('read' in call)) return
		void go.promise.then(async () => {
			for await (const item of call) texts.push(item.count)
			callback(null, { text: 'done' })
		})
		server.changed()
	})
	const raw = useRawClient(server.address).call('Upload')
	let accepted = 0
	for (let i = 0; i < 100; i++)
		raw.stream.write(frameOf({ count: i, data: new Uint8Array(60_000) }), () => accepted++)
	raw.halfClose()
	// The answer to a ping comes after the server has seen what was sent before.
	await new Promise((resolve) => raw.stream.session?.ping(resolve))
	expect(accepted).toBeLessThan(50)
	go.resolve()
	expect(await raw.trailers).toMatchObject({ 'grpc-status': '0' })
	expect(texts).toEqual(Array.from({ length: 100 }, (_, i) => i))
})
