import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { lint } from 'yaoki'
import {
	type GrpcServerOptions,
	getGrpcContext,
	resilientInterceptor,
	resilientServerInterceptor,
} from 'yaoki/grpc'
import { inMemoryMetrics, observe } from 'yaoki/telemetry'
import { observationOf } from '../../../src/core/observe/observation.ts'
import { attachObserver } from '../../../src/telemetry/observe/attach.ts'
import { useRawClient } from '../support/raw-client.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, hang, reply, startUsersServer } from '../support/users-server.ts'
import { METHODS, useServer } from './setup.ts'

test('is a server interceptor of grpc-js', () => {
	const interceptor: grpc.ServerInterceptor = resilientServerInterceptor(grpc)
	expect(interceptor).toBeTypeOf('function')
})

test.each([undefined, null, {}, { Metadata: grpc.Metadata }])('the module %o is invalid', (module) => {
	expect(() => resilientServerInterceptor(module as never)).toThrow(
		expect.objectContaining({ name: 'InvalidArgumentError', argument: 'grpc' }),
	)
})

test('a listener receives the end of every call with service, method and status', async () => {
	const received: unknown[] = []
	const { server, client, events, interceptor, until } = await useServer({
		onEvent: (event) => received.push(event),
	})
	server.play([reply({}), fail(5)])
	const others: unknown[] = []
	const unsubscribe = interceptor.subscribe((event) => others.push(event))
	await client.get({})
	await until('the event', () => events.length === 1)
	unsubscribe()
	await client.get({}).catch(() => {})
	await until('the event', () => events.length === 2)
	expect(received).toEqual(events)
	expect(events).toMatchObject([
		{
			type: 'call',
			emitter: 'grpc-server',
			call: '/yaoki.test.Users/Get',
			grpcStatus: 'OK',
			outcome: 'success',
		},
		{
			grpcService: 'yaoki.test.Users',
			method: 'Get',
			grpcStatus: 'NOT_FOUND',
			outcome: 'failure',
			errorCode: 5,
		},
	])
	expect(others).toEqual(events.slice(0, 1))
	expect(interceptor.stats).toEqual({
		calls: 2,
		failures: 1,
		cancelled: 0,
		rejected: 0,
		inFlight: 0,
		bulkhead: undefined,
	})
	expect(JSON.parse(JSON.stringify(events))).toEqual(events)
})

test('telemetry observes it', async () => {
	const { server, client, interceptor, events, until } = await useServer({ name: 'users', bulkhead: {} })
	const metrics = inMemoryMetrics()
	const stop = observe({ users: interceptor }, [metrics])
	server.play([reply({}), fail(13)])
	await client.get({})
	await client.get({}).catch(() => {})
	await until('the events', () => events.length === 2)
	expect(metrics.snapshot().services['users']).toMatchObject({ calls: 2 })
	stop()
})

describe('lint', () => {
	test('sees the bulkhead and the deadline', () => {
		const bulkhead = { maxQueue: 0 }
		expect(lint(resilientServerInterceptor(grpc, { bulkhead })).findings.map(({ code }) => code)).toContain(
			'no-timeout',
		)
		expect(lint(resilientServerInterceptor(grpc, { bulkhead, defaultDeadlineMs: 2_000 })).worstMs).toBe(2_000)
		expect(
			lint(resilientServerInterceptor(grpc, { bulkhead, defaultDeadlineMs: 2_000, maxDeadlineMs: 9_000 }))
				.worstMs,
		).toBe(9_000)
	})

	test('reports a queue that outlasts the deadline only if the user chose its queueTimeoutMs', () => {
		const fixes = (bulkhead: GrpcServerOptions['bulkhead']) =>
			lint(resilientServerInterceptor(grpc, { bulkhead, defaultDeadlineMs: 2_000 })).findings.map(
				({ code, fix }) => [code, fix],
			)
		expect(fixes(true)).toEqual([])
		expect(fixes({ maxConcurrent: 5 })).toEqual([])
		expect(fixes({ queueTimeoutMs: 2_000 })).toEqual([
			['wait-outlasts-timeout', 'Set queueTimeoutMs of the bulkhead below the deadline.'],
		])
	})
})

test.each(METHODS)('%s handlers run inside of the functions of observers', async (method) => {
	const { server, client, interceptor } = await useServer()
	const storage = new AsyncLocalStorage<string>()
	const detach = attachObserver(observationOf(interceptor), {
		around: (info, next) => storage.run(info.type, next),
	})
	const seen: unknown[] = []
	server.play(async (exchange) => {
		seen.push(storage.getStore())
		await exchange.halfClosed
		seen.push(storage.getStore())
		exchange.end()
	})
	await client.invoke(method, {}).done
	expect(seen).toEqual(['attempt', 'attempt'])
	detach()
})

describe('other interceptors', () => {
	const deny: grpc.ServerInterceptor = (_method, call) =>
		new grpc.ServerInterceptingCall(call, {
			start: (next) =>
				next({ onReceiveMetadata: () => call.sendStatus({ code: 16, details: 'who are you?' }) }),
		})

	test('one nearer to the handler ends a call with its own status', async () => {
		const { server, client, interceptor, until } = await useServer({ bulkhead: {} }, { outer: [deny] })
		expect((await client.invoke('Chat', {}).done).status.code).toBe(16)
		await until('a free slot', ({ bulkhead }) => bulkhead?.concurrent === 0)
		expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1, rejected: 0 })
		expect(server.calls).toEqual([])
	})

	test('one nearer to the client ends a call before this one sees it', async () => {
		const { client, interceptor } = await useServer({ bulkhead: {} }, { inner: [deny] })
		expect((await client.invoke('Get', {}).done).status.code).toBe(16)
		expect(interceptor.stats.calls).toBe(0)
	})

	test('one that ends a call before its metadata is not counted', async () => {
		const early: grpc.ServerInterceptor = (_method, call) => {
			const intercepting = new grpc.ServerInterceptingCall(call)
			intercepting.start = () => call.sendStatus({ code: 7, details: 'no' })
			return intercepting
		}
		const { client, interceptor } = await useServer({}, { outer: [early] })
		expect((await client.invoke('Get', {}).done).status.code).toBe(7)
		expect(interceptor.stats.calls).toBe(0)
	})

	test('two of them may be used on one server', async () => {
		const second = resilientServerInterceptor(grpc, { bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
		const { server, client } = await useServer({ bulkhead: { maxConcurrent: 5 } }, { outer: [second] })
		server.play(hang())
		const call = client.invoke('Get', {})
		await server.called(1)
		expect((await client.invoke('Get', {}).done).status.code).toBe(14)
		call.cancel()
		await server.cancelled(1)
	})
})

describe('clients of gRPC inside a handler', () => {
	test.each(METHODS)('%s: inherit deadline and cancellation', async (method) => {
		await using downstream = await startUsersServer()
		downstream.play(hang())
		const inner = useUsersClient(downstream.address, { interceptors: [resilientInterceptor(grpc)] })
		const { server, client } = await useServer({ maxDeadlineMs: 30_000 })
		server.play(async (exchange) => {
			await exchange.halfClosed
			await inner.get({ text: 'inner' }).catch(() => {})
		})
		const call = client.invoke(method, {}, { deadline: Date.now() + 600_000 })
		const seen = await downstream.called(1)
		expect(seen.deadline).toBeLessThanOrEqual(Date.now() + 30_000)
		call.cancel()
		await downstream.cancelled(1)
	})

	test('are not started after the deadline of the call around', async () => {
		await using downstream = await startUsersServer()
		const inner = useUsersClient(downstream.address, { interceptors: [resilientInterceptor(grpc)] })
		const { server } = await useServer({})
		const codes: unknown[] = []
		server.play(async (exchange) => {
			const signal = getGrpcContext(exchange.call)?.signal
			// On a busy machine the deadline may pass before the signal is read.
			if (signal?.aborted === false) await once(signal, 'abort')
			const { error } = await inner.invoke('Get', {}).done
			codes.push(error?.code)
			server.changed()
		})
		const raw = useRawClient(server.address).call('Upload', { 'grpc-timeout': '20m' })
		await raw.trailers
		// On a busy machine the deadline may pass before the handler is started.
		if (server.calls.length > 0) {
			await server.until('the inner call', () => codes.length > 0)
			expect(codes[0]).toBeOneOf([1, 4])
		}
		expect(downstream.calls).toEqual([])
	})
})
