import type { EventEmitter } from 'node:events'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type CallOptions, DeadlineExceededError, retry } from 'yaoki'
import {
	type GrpcServerContext,
	getGrpcContext,
	parseServiceConfig,
	resilientChannelOptions,
	resilientInterceptor,
	type ServiceConfig,
} from 'yaoki/grpc'
import { currentContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { quickRetries } from '../support/configs.ts'
import { useRawClient } from '../support/raw-client.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, hang, reply, type Step, sendThenHang, startUsersServer } from '../support/users-server.ts'
import { METHODS, useServer } from './setup.ts'

describe.each(METHODS)('%s', (method) => {
	test('the handler runs in a context with deadline, signal and attempt', async () => {
		const { server, client } = await useServer()
		const contexts: (CallOptions | undefined)[] = []
		server.play((exchange) => {
			contexts.push(getGrpcContext(exchange.call), currentContext())
			return reply({ text: 'a' })(exchange)
		})
		const call = client.invoke(
			method,
			{ text: 'q' },
			{ deadline: Date.now() + 60_000, metadata: { 'grpc-previous-rpc-attempts': '2' } },
		)
		expect((await call.done).items).toMatchObject([{ text: 'a' }])
		const [context, current] = contexts
		expect(current).toBe(context)
		expect(context).toMatchObject({ service: 'yaoki.test.Users', method, attempt: 2, isExpired: false })
		expect(context?.deadline?.remainingMs).toBeGreaterThan(0)
		expect(context?.deadline?.remainingMs).toBeLessThanOrEqual(60_000)
		expect(context?.signal?.aborted).toBe(false)
	})

	test('policies inside the handler inherit deadline and signal', async () => {
		const { server, client } = await useServer({ defaultDeadlineMs: 30_000 })
		const policy = withAmbientContext(retry({ maxRetries: 0 }))
		const seen: CallOptions[] = []
		server.play(async (exchange) => {
			await exchange.halfClosed
			await policy.execute((context) => seen.push(context))
			exchange.end()
		})
		expect((await client.invoke(method, {}).done).status.code).toBe(0)
		expect(seen[0]?.deadline?.remainingMs).toBeLessThanOrEqual(30_000)
	})

	test('a deadline that passes aborts the signal, sends DEADLINE_EXCEEDED and ignores what the handler sends later', async () => {
		const clock = virtualRuntime()
		const { server, client, interceptor, events, until } = await useServer({
			defaultDeadlineMs: 50,
			runtime: clock,
		})
		let signal: AbortSignal | undefined
		const late: Step = async (exchange) => {
			signal = getGrpcContext(exchange.call)?.signal
			await exchange.over
			exchange.send({ text: 'late' })
			exchange.end()
		}
		server.play(late)
		const call = client.invoke(method, {})
		await server.called(1)
		await clock.advance(50)
		expect(await call.done).toMatchObject({ status: { code: 4 }, items: [], error: { code: 4 } })
		expect(signal?.reason).toBeInstanceOf(DeadlineExceededError)
		await server.cancelled(1)
		expect(interceptor.stats).toMatchObject({ failures: 1, inFlight: 0, rejected: 0 })
		await until('the event', () => events.length > 0)
		expect(events).toMatchObject([
			{ type: 'call', method, grpcStatus: 'DEADLINE_EXCEEDED', stop: 'deadline' },
		])
	})

	test("the client's own deadline aborts the signal", async () => {
		const { server, client } = await useServer()
		const signals: AbortSignal[] = []
		server.play((exchange) => {
			const signal = getGrpcContext(exchange.call)?.signal
			if (signal) signals.push(signal)
			signal?.addEventListener('abort', () => server.changed())
		})
		// On a busy machine the deadline may pass before the handler is started.
		const { status } = await client.invoke(method, {}, { deadline: Date.now() + 100 }).done
		expect(status.code).toBe(4)
		await server.until('the abort', () => signals.every((signal) => signal.aborted))
	})

	test('a cancellation by the client at its deadline is a passed deadline', async () => {
		const clock = virtualRuntime()
		const { server, client, events, until } = await useServer({ runtime: clock })
		let context: GrpcServerContext | undefined
		server.play((exchange) => {
			context = getGrpcContext(exchange.call)
			// Created on first read.
			void context?.signal
		})
		const call = client.invoke(method, {}, { deadline: Date.now() + 60_000 })
		await server.called(1)
		await clock.advance((context?.deadline?.remainingMs ?? 0) - 5)
		call.cancel()
		await server.cancelled(1)
		expect(context?.signal.reason).toBeInstanceOf(DeadlineExceededError)
		await until('the event', () => events.length > 0)
		expect(events).toMatchObject([{ grpcStatus: 'DEADLINE_EXCEEDED', stop: 'deadline' }])
	})

	test.each(['0m', '1n', '0S', '00000000H'])(
		'a deadline in the past (%s) does not start the handler',
		async (timeout) => {
			const { server, interceptor } = await useServer()
			const raw = useRawClient(server.address).call(method, { 'grpc-timeout': timeout })
			raw.send({})
			raw.halfClose()
			expect(await raw.trailers).toMatchObject({ 'grpc-status': '4' })
			expect(server.calls).toEqual([])
			expect(interceptor.stats).toMatchObject({ calls: 1, rejected: 1, failures: 1 })
		},
	)

	test('a cancelled call aborts the signal, and what the handler sends later is ignored', async () => {
		const { server, client, interceptor, events, until } = await useServer()
		const seen: unknown[] = []
		server.play(async (exchange) => {
			const context = getGrpcContext(exchange.call)
			// Read now: it is created on first use.
			const signal = context?.signal
			const emitter: EventEmitter = exchange.call
			emitter.once('cancelled', () => seen.push(currentContext() === context))
			await exchange.over
			seen.push(signal?.reason)
			exchange.send({})
			exchange.fail(13, 'late')
		})
		const call = client.invoke(method, {})
		await server.called(1)
		call.cancel()
		expect((await call.done).status.code).toBe(1)
		await server.cancelled(1)
		await until('the event', () => events.length > 0)
		expect(seen).toMatchObject([true, { name: 'AbortError' }])
		expect(events).toMatchObject([{ type: 'call', grpcStatus: 'CANCELLED', stop: 'abort' }])
		expect(interceptor.stats).toMatchObject({ cancelled: 1, failures: 0, inFlight: 0 })
	})

	test('a client that disconnects aborts the signal', async () => {
		const { server, until } = await useServer()
		let signal: AbortSignal | undefined
		server.play((exchange) => {
			signal = getGrpcContext(exchange.call)?.signal
		})
		const client = useRawClient(server.address)
		const raw = client.call(method)
		raw.send({})
		raw.halfClose()
		await server.called(1)
		client.session.destroy()
		await until('the cancellation', ({ cancelled }) => cancelled === 1)
		expect(signal?.reason).toMatchObject({ name: 'AbortError' })
	})

	test('a handler that throws ends the call with UNKNOWN', async () => {
		const { server, client, interceptor, events, until } = await useServer({ bulkhead: { maxConcurrent: 1 } })
		server.handle(method, () => {
			throw new Error('broken')
		})
		expect((await client.invoke(method, {}).done).status.code).toBe(2)
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
		expect(events).toMatchObject([{ type: 'call', outcome: 'failure', grpcStatus: 'UNKNOWN' }])
		expect(interceptor.stats).toMatchObject({ failures: 1, inFlight: 0 })
	})

	test('a handler that ends twice is counted once', async () => {
		const { server, client, interceptor, events, until } = await useServer({ bulkhead: {} })
		server.play((exchange) => {
			exchange.fail(5, 'first')
			exchange.fail(13, 'second')
		})
		expect((await client.invoke(method, {}).done).status).toMatchObject({ code: 5, details: 'first' })
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
		expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1, inFlight: 0 })
		expect(events).toHaveLength(1)
	})

	test('trailers and headers of the handler arrive', async () => {
		const { server, client } = await useServer({ bulkhead: {}, defaultDeadlineMs: 60_000 })
		server.play([
			reply({ text: 'a' }, { headers: { 'x-head': '1' }, trailers: { 'x-tail': '2' } }),
			fail(14, { pushback: '5' }),
		])
		const ok = await client.invoke(method, {}).done
		expect(ok.headers?.get('x-head')).toEqual(['1'])
		expect(ok.status.metadata.get('x-tail')).toEqual(['2'])
		const failed = await client.invoke(method, {}).done
		expect(failed.status.metadata.get('grpc-retry-pushback-ms')).toEqual(['5'])
	})

	test('a failed status after exhausted retries forbids the client to retry', async () => {
		const { server, client } = await useServer()
		const policy = withAmbientContext(retry({ maxRetries: 1, baseDelayMs: 0 }))
		const failing =
			(code: number, pushback?: string): Step =>
			async (exchange) => {
				const down = Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
				await policy.settle(() => Promise.reject(down))
				return fail(code, pushback ? { pushback } : {})(exchange)
			}
		server.play([failing(14), failing(5), failing(14, '70')])
		const pushbacks: unknown[] = []
		for (let i = 0; i < 3; i++) {
			const { status } = await client.invoke(method, {}).done
			pushbacks.push([status.code, ...status.metadata.get('grpc-retry-pushback-ms')])
		}
		expect(pushbacks).toEqual([[14, '-1'], [5], [14, '70']])
	})
})

describe('a handler whose inner call has exhausted its retries', () => {
	const PUSHBACK = 'grpc-retry-pushback-ms'

	const config = (maxAttempts: number) =>
		quickRetries(maxAttempts, ['UNAVAILABLE', 'ABORTED', 'CANCELLED', 'INTERNAL'])

	const useResilientClient = (address: string, serviceConfig: ServiceConfig) =>
		useUsersClient(address, {
			...resilientChannelOptions(serviceConfig),
			interceptors: [resilientInterceptor(grpc, { serviceConfig })],
		})

	/** A service behind the server, which always fails, and a client of it. */
	async function useBackend(pushback?: string, serviceConfig = config(2)) {
		const backend = await startUsersServer()
		onTestFinished(() => backend.close())
		backend.play(fail(14, pushback === undefined ? {} : { pushback }))
		return { backend, inner: useResilientClient(backend.address, serviceConfig) }
	}

	test.each([1, 2, 10, 13, 14])('maps it to the code %i: the client does not retry', async (code) => {
		const { server } = await useServer()
		const { backend, inner } = await useBackend()
		server.handle('Get', (_, callback) => {
			inner.get({}).catch(() => callback({ code, details: 'mapped' }))
		})
		const error = await useResilientClient(server.address, config(3))
			.get({})
			.catch((thrown) => thrown)
		expect(error).toMatchObject({ code, details: 'mapped' })
		expect(error.metadata.get(PUSHBACK)).toEqual(['-1'])
		expect(backend.calls).toHaveLength(2)
	})

	test.each([
		['passes its error on: the client does not retry', '1', config(2), undefined, 2],
		[
			'forwards a veto although its own client has no retry policy',
			'-1',
			parseServiceConfig({}),
			{ code: 10 },
			1,
		],
	])('%s', async (_, pushback, serviceConfig, mapped, requests) => {
		const { server } = await useServer()
		const { backend, inner } = await useBackend(pushback, serviceConfig)
		server.handle('Get', (_request, callback) => {
			inner.get({}).catch((error) => callback(mapped ?? error))
		})
		const error = await useResilientClient(server.address, config(3))
			.get({})
			.catch((thrown) => thrown)
		expect(error.metadata.get(PUSHBACK)).toEqual(['-1'])
		expect(backend.calls).toHaveLength(requests)
	})
})

test('the deadline that handlers see is the one that the server allows', async () => {
	const { server, client } = await useServer({ maxDeadlineMs: 20_000 })
	server.play(reply({}))
	const deadline = Date.now() + 10_000
	await client.get({}, { deadline })
	await client.get({}, { deadline: Date.now() + 600_000 })
	const [own, capped] = server.calls.map((call) => call.deadline)
	expect(Math.abs((own ?? 0) - deadline)).toBeLessThan(10_000)
	expect(capped).toBeLessThanOrEqual(Date.now() + 20_000)
	await client.get({})
	expect(server.calls[2]?.deadline).toBe(Number.POSITIVE_INFINITY)
})

test.each(METHODS)(
	'%s with a malformed grpc-timeout is INTERNAL, and its slot becomes free',
	async (method) => {
		const { server, until } = await useServer({ bulkhead: { maxConcurrent: 1, abandonAfterMs: 0 } })
		server.play(hang())
		const raw = useRawClient(server.address).call(method, { 'grpc-timeout': 'soon' })
		raw.send({})
		raw.halfClose()
		expect(await raw.trailers).toMatchObject({ 'grpc-status': '13' })
		await until('a free slot', ({ bulkhead, inFlight }) => !bulkhead?.concurrent && !inFlight)
	},
)

test('a request that cannot be read is INTERNAL, its handler is not started, and its slot becomes free', async () => {
	const { server, until } = await useServer({ bulkhead: { maxConcurrent: 1, abandonAfterMs: 0 } })
	const raw = useRawClient(server.address).call('Get')
	// A message of two bytes that is not one.
	raw.stream.end(Buffer.from([0, 0, 0, 0, 2, 0xff, 0xff]))
	expect(await raw.trailers).toMatchObject({ 'grpc-status': '13' })
	await until('a free slot', ({ bulkhead, inFlight }) => !bulkhead?.concurrent && !inFlight)
	expect(server.calls).toEqual([])
})

test('a unary handler is not started if the deadline passes before the request is complete', async () => {
	const clock = virtualRuntime()
	const { server, until } = await useServer({ defaultDeadlineMs: 50, runtime: clock })
	const raw = useRawClient(server.address).call('Get')
	await until('the call', ({ inFlight }) => inFlight === 1)
	await clock.advance(50)
	raw.send({})
	raw.halfClose()
	expect(await raw.trailers).toMatchObject({ 'grpc-status': '4' })
	expect(server.calls).toEqual([])
})

test('a client that does not read gets its handler cancelled at the deadline', async () => {
	const clock = virtualRuntime()
	const { server } = await useServer({ defaultDeadlineMs: 50, runtime: clock })
	server.play((exchange) => {
		for (let i = 0; i < 100; i++) exchange.send({ data: new Uint8Array(100_000) })
	})
	const raw = useRawClient(server.address).call('List')
	raw.stream.pause()
	raw.send({})
	raw.halfClose()
	await server.called(1)
	await clock.advance(50)
	await server.cancelled(1)
	raw.stream.resume()
	expect(await raw.trailers).toMatchObject({ 'grpc-status': '4' })
})

test('a server without the interceptor has no context', async () => {
	expect(getGrpcContext({ metadata: new grpc.Metadata() })).toBeUndefined()
})

test('headers and then silence end at the deadline of the server', async () => {
	const clock = virtualRuntime()
	const { server, client } = await useServer({ defaultDeadlineMs: 50, runtime: clock })
	server.play(sendThenHang([{ text: 'a' }]))
	const call = client.invoke('List', {})
	await call.received(1)
	await clock.advance(50)
	expect(await call.done).toMatchObject({ status: { code: 4 }, items: [{ text: 'a' }] })
	server.play(hang())
})
