import { createServer } from 'node:http'
import * as connect from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { getGrpcContext, resilientConnectServerInterceptor } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import { listen } from '../../support/listen.ts'
import { unreadableError } from '../../support/unreadable-error.ts'
import { Users } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'
import { retrying } from './configs.ts'
import { METHODS, useConnectClient } from './connect-client.ts'
import { hang, reply, sendThenHang, startConnectServer } from './connect-server.ts'
import { useResilientServer } from './server-setup.ts'
import { useClient } from './setup.ts'
import { testServer } from './suites/server.ts'

const { Code, ConnectError } = connect

testServer('connect', METHODS)

test('the client follows the pushback of a full server', async () => {
	const { server, until } = await useResilientServer({
		bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		pushbackMs: () => 25,
	})
	const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
	server.play([reply({ text: 'a' }, { after: mayEnd }), reply({ text: 'b' })])
	const first = useClient(server).client.invoke('Get', {})
	await server.called(1)
	const runtime = virtualRuntime()
	const { promise: isRejected, resolve: reject } = Promise.withResolvers<number>()
	const { client } = useClient(server, {
		serviceConfig: retrying({ initialBackoff: '60s', maxAttempts: 2 }),
		onRetry: (_error, _attempt, delayMs) => reject(delayMs),
		runtime,
	})
	const second = client.invoke('Get', {})
	expect(await isRejected).toBe(25)
	end()
	expect((await first).items).toMatchObject([{ text: 'a' }])
	await until(({ bulkhead }) => bulkhead?.concurrent === 0)
	await runtime.advance(25)
	expect((await second).items).toMatchObject([{ text: 'b' }])
})

describe.each(METHODS)('a call inside a handler: %s', (method) => {
	test('inherits the deadline, with the time that is left', async () => {
		const inner = await startConnectServer()
		onTestFinished(() => inner.close())
		inner.play(reply({ text: 'inner' }))
		const { server: outer } = await useResilientServer({ marginMs: 5_000 })
		const { client: innerClient } = useClient(inner, { serviceConfig: retrying() }, 'connect')
		outer.play(async function* ({ readAll }) {
			await readAll()
			const { items } = await innerClient.invoke(method, {})
			yield* items
		})
		const { client } = useClient(outer)
		const { items, error } = await client.invoke(method, {}, { timeoutMs: 60_000 })
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'inner' }])
		expect(inner.calls[0]?.timeoutMs).toBeLessThanOrEqual(55_000)
		expect(inner.calls[0]?.timeoutMs).toBeGreaterThan(20_000)
	})

	test('is cancelled when the client cancels the call around', async () => {
		const inner = await startConnectServer()
		onTestFinished(() => inner.close())
		inner.play(hang())
		const { server: outer } = await useResilientServer()
		const { client: innerClient } = useClient(inner, {}, 'connect')
		const outcomes: unknown[] = []
		outer.play(async function* ({ readAll }) {
			await readAll()
			const { error } = await innerClient.invoke(method, {})
			outcomes.push(error?.code)
			yield {}
		})
		const { client } = useClient(outer)
		const controller = new AbortController()
		const call = client.invoke(method, {}, { signal: controller.signal })
		await inner.called(1)
		controller.abort()
		await call
		await inner.cancelled(1)
		await outer.until('the end of the handler', () => outcomes.length === 1)
		expect(outcomes).toEqual([Code.Canceled])
	})
})

test('a client of grpc-js is served too', async () => {
	const { server } = await useResilientServer({
		bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		pushbackMs: () => 7,
	})
	server.play(hang())
	const client = useUsersClient(server.http2Url.slice('http://'.length))
	const running = client.invoke('Get', {})
	await server.called(1)
	const { error, status } = await client.invoke('Chat', {}).done
	expect(error?.code).toBe(14)
	expect(status.metadata.get('grpc-retry-pushback-ms')).toEqual(['7'])
	running.cancel()
	await running.done
})

test('a server that shuts down lets its handlers respond', async () => {
	const shutdown = new AbortController()
	const interceptor = resilientConnectServerInterceptor(connect)
	const { promise: isRunning, resolve: runs } = Promise.withResolvers<void>()
	const http = createServer(
		connectNodeAdapter({
			interceptors: [interceptor],
			shutdownSignal: shutdown.signal,
			routes: (router) => {
				router.service(Users, {
					get: async (_item, { signal }) => {
						runs()
						await new Promise((resolve) => signal.addEventListener('abort', resolve))
						return { text: 'in time' }
					},
				})
			},
		}),
	)
	const http1Url = `http://127.0.0.1:${await listen(http)}`
	onTestFinished(() => {
		http.close()
		http.closeAllConnections()
	})
	const call = useConnectClient('connect on HTTP/1.1', { http1Url, http2Url: '' }).invoke('Get', {})
	await isRunning
	shutdown.abort(new ConnectError('the server shuts down', Code.Unavailable))
	expect((await call).items).toMatchObject([{ text: 'in time' }])
})

test('a stream that the client stops reading is stopped', async () => {
	const { server, until } = await useResilientServer({ bulkhead: {} })
	server.play(sendThenHang([{ text: 'a' }]))
	const client = useConnectClient('grpc', server)
	const controller = new AbortController()
	await client.invoke('List', {}, { signal: controller.signal, onItem: () => controller.abort() })
	await until(({ bulkhead, cancelled }) => bulkhead?.concurrent === 0 && cancelled === 1)
})

test('a deadline in the past starts no handler', async () => {
	const { server, interceptor } = await useResilientServer({ defaultDeadlineMs: 0 })
	server.play(reply({}))
	const { error } = await useConnectClient('grpc', server).invoke('List', {})
	expect(error?.code).toBe(Code.DeadlineExceeded)
	expect(server.calls).toHaveLength(0)
	expect(interceptor.stats).toMatchObject({ rejected: 1, failures: 1 })
})

// `String(thrown)` threw in the interceptor: the call hung, and the unhandled rejection ended the process.
describe.each([
	['has no toString', Object.create(null)],
	['cannot be read', unreadableError()],
])('a handler that throws a value that %s', (_, thrown) => {
	test.each(METHODS)('fails with INTERNAL: %s', async (method) => {
		const { server, interceptor, until } = await useResilientServer({ bulkhead: { maxConcurrent: 1 } })
		// biome-ignore lint/correctness/useYield: it fails before it sends anything.
		server.play(async function* ({ readAll }) {
			await readAll()
			throw thrown
		})
		const { error } = await useConnectClient('grpc', server).invoke(method, {})
		expect(error?.code).toBe(Code.Internal)
		await until(({ bulkhead }) => bulkhead?.concurrent === 0)
		expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1, inFlight: 0 })
	})
})

test('retry headers of clients that are not trusted are ignored', async () => {
	const { server } = await useResilientServer({ trustRetryHeaders: false })
	const attempts: unknown[] = []
	server.play(async function* ({ seen }) {
		attempts.push(getGrpcContext(seen.context)?.attempt)
		yield {}
	})
	const headers = { 'grpc-previous-rpc-attempts': '2' }
	await useConnectClient('connect', server).invoke('Get', {}, { headers })
	expect(attempts).toEqual([0])
})

test('the interceptor has the type of Connect, and validates its options', () => {
	const interceptor: connect.Interceptor = resilientConnectServerInterceptor(connect)
	expect(interceptor).toBeTypeOf('function')
	expect(() => resilientConnectServerInterceptor(connect, { bulkhed: {} } as never)).toThrow(
		/Unknown option "bulkhed" for resilientConnectServerInterceptor. Did you mean "bulkhead"/,
	)
	expect(() => resilientConnectServerInterceptor({} as never)).toThrow(/import \* as connect/)
	expect(getGrpcContext({ requestHeader: new Headers() })).toBeUndefined()
})
