import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, onTestFinished, test } from 'vitest'
import { retry } from 'yaoki'
import { type GrpcServerContext, getGrpcContext } from 'yaoki/grpc'
import { currentContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import type { MethodName } from '../../support/users.ts'
import { retrying } from '../configs.ts'
import { type TransportName, useConnectClient } from '../connect-client.ts'
import { fail, hang, reply, startConnectServer } from '../connect-server.ts'
import { useResilientServer } from '../server-setup.ts'
import { useClient } from '../setup.ts'

// biome-ignore lint/correctness/useYield: a step is a generator.
async function* failWith(error: Error): AsyncGenerator<never> {
	throw error
}

/** A server with the interceptor, and clients with one transport, which supports these methods. */
export function testServer(transport: TransportName, methods: readonly MethodName[]): void {
	describe(`a server for ${transport}`, () => {
		describe.each(methods)('%s', (method) => {
			test('runs the handler in a context with deadline, signal and attempt', async () => {
				const { server, interceptor, events } = await useResilientServer()
				const contexts: (GrpcServerContext | undefined)[] = []
				const ambient: unknown[] = []
				server.play(async function* ({ seen, readAll }) {
					await readAll()
					ambient.push(currentContext())
					contexts.push(getGrpcContext(seen.context))
					yield { text: 'a' }
					await Promise.resolve()
					ambient.push(currentContext())
				})
				const client = useConnectClient(transport, server)
				const { items, error } = await client.invoke(
					method,
					{},
					{ timeoutMs: 60_000, headers: { 'grpc-previous-rpc-attempts': '2' } },
				)
				expect(error).toBeUndefined()
				expect(items).toMatchObject([{ text: 'a' }])
				const [context] = contexts
				expect(context).toMatchObject({ service: 'yaoki.test.Users', method, attempt: 2, isExpired: false })
				expect(context?.deadline?.remainingMs).toBeLessThanOrEqual(60_000)
				expect(ambient).toEqual([context, context])
				expect(interceptor.stats).toMatchObject({ calls: 1, failures: 0, cancelled: 0, inFlight: 0 })
				expect(context?.signal.aborted).toBe(false)
				expect(events).toMatchObject([
					{ type: 'call', grpcService: 'yaoki.test.Users', method, outcome: 'success', grpcStatus: 'OK' },
				])
			})

			test('ends a call at its deadline, and the handler holds its slot until it ends', async () => {
				const runtime = virtualRuntime()
				const { server, interceptor, until } = await useResilientServer({
					runtime,
					maxDeadlineMs: 1_000,
					bulkhead: { maxConcurrent: 1 },
				})
				const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
				let context: GrpcServerContext | undefined
				server.play(async function* ({ seen }) {
					context = getGrpcContext(seen.context)
					await mayEnd
					yield {}
				})
				const client = useConnectClient(transport, server)
				const call = client.invoke(method, {}, { timeoutMs: 60_000 })
				const seen = await server.called(1)
				await runtime.advance(1_000)
				expect((await call).error?.code).toBe(Code.DeadlineExceeded)
				expect(context?.signal.aborted).toBe(true)
				expect(seen.context.signal.aborted).toBe(true)
				expect(interceptor.stats).toMatchObject({ failures: 1, inFlight: 0, bulkhead: { concurrent: 1 } })
				end()
				await until(({ bulkhead }) => bulkhead?.concurrent === 0)
			})

			test('rejects calls above the limit with Unavailable and a pushback', async () => {
				const { server, interceptor, events } = await useResilientServer({
					bulkhead: { maxConcurrent: 1, maxQueue: 0 },
					pushbackMs: () => 25,
				})
				server.play(hang())
				const client = useConnectClient(transport, server)
				const controller = new AbortController()
				const running = client.invoke(method, {}, { signal: controller.signal })
				await server.called(1)
				const { error } = await client.invoke(method, {})
				expect(error).toMatchObject({ code: Code.Unavailable })
				expect(error?.metadata.get('grpc-retry-pushback-ms')).toBe('25')
				expect(interceptor.stats).toMatchObject({ calls: 2, rejected: 1, failures: 1 })
				expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'UNAVAILABLE' })
				controller.abort()
				await running
			})

			test('cancels the context when the client cancels, and frees the slot', async () => {
				const { server, interceptor, until, events } = await useResilientServer({ bulkhead: {} })
				let context: GrpcServerContext | undefined
				server.play(async function* ({ seen, over }) {
					context = getGrpcContext(seen.context)
					yield {}
					await over
				})
				const client = useConnectClient(transport, server)
				const controller = new AbortController()
				const call = client.invoke(method, {}, { signal: controller.signal })
				const seen = await server.called(1)
				controller.abort()
				expect((await call).error?.code).toBe(Code.Canceled)
				await server.until('the end of the handler', () => seen.isEnded)
				await until(({ cancelled, bulkhead }) => cancelled === 1 && bulkhead?.concurrent === 0)
				expect(context?.signal.aborted).toBe(true)
				expect(interceptor.stats).toMatchObject({ calls: 1, failures: 0, inFlight: 0 })
				expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'CANCELLED' })
			})

			test('a queued call is started when a slot is free, and one that is cancelled is not', async () => {
				const { server, interceptor, until } = await useResilientServer({
					bulkhead: { maxConcurrent: 1, maxQueue: 5 },
				})
				const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
				server.play([reply({ text: 'a' }, { after: mayEnd }), reply({ text: 'b' })])
				const client = useConnectClient(transport, server)
				const first = client.invoke(method, {})
				await server.called(1)
				const controller = new AbortController()
				const cancelled = client.invoke(method, {}, { signal: controller.signal })
				await until(({ bulkhead }) => bulkhead?.queued === 1)
				const queued = client.invoke(method, {})
				await until(({ bulkhead }) => bulkhead?.queued === 2)
				controller.abort()
				expect((await cancelled).error?.code).toBe(Code.Canceled)
				await until(({ bulkhead }) => bulkhead?.queued === 1)
				end()
				expect((await first).items).toMatchObject([{ text: 'a' }])
				expect((await queued).items).toMatchObject([{ text: 'b' }])
				expect(server.calls).toHaveLength(2)
				expect(interceptor.stats).toMatchObject({ calls: 3, cancelled: 1, failures: 0 })
			})

			test('passes the error of a handler on', async () => {
				const { server, interceptor } = await useResilientServer()
				server.play(fail(Code.NotFound, { message: 'no such user', metadata: { 'x-t': '1' } }))
				const { error } = await useConnectClient(transport, server).invoke(method, {})
				expect(error).toMatchObject({ code: Code.NotFound, rawMessage: 'no such user' })
				expect(error?.metadata.get('x-t')).toBe('1')
				expect(error?.metadata.has('grpc-retry-pushback-ms')).toBe(false)
				expect(interceptor.stats).toMatchObject({ failures: 1, inFlight: 0 })
			})

			test('forbids retries after the retries inside the handler are exhausted', async () => {
				const { server } = await useResilientServer()
				const policy = withAmbientContext(retry({ maxRetries: 1, baseDelayMs: 0 }))
				server.play(async function* () {
					await policy.execute(() => Promise.reject(new ConnectError('down', Code.Unavailable)))
					yield {}
				})
				const { client, events } = useClient(server, { serviceConfig: retrying() }, transport)
				const { error } = await client.invoke(method, {})
				expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: 'down' })
				expect(error?.metadata.get('grpc-retry-pushback-ms')).toBe('-1')
				expect(server.calls).toHaveLength(1)
				expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'UNAVAILABLE' })
			})
		})

		test.each([
			['another error of Connect', () => new ConnectError('mapped', Code.Aborted), Code.Aborted],
			['an error that is not one of Connect', () => new Error('mapped'), Code.Internal],
		])('forbids retries after exhausted retries if the handler throws %s', async (_, create, code) => {
			const { server } = await useResilientServer()
			const policy = withAmbientContext(retry({ maxRetries: 1, baseDelayMs: 0 }))
			server.play(async function* () {
				await policy.settle(() => Promise.reject(new ConnectError('down', Code.Unavailable)))
				yield* failWith(create())
			})
			const { error } = await useConnectClient(transport, server).invoke('Get', {})
			expect(error?.code).toBe(code)
			expect(error?.metadata.get('grpc-retry-pushback-ms')).toBe('-1')
		})

		test('forbids retries if the handler throws a received error with a pushback', async () => {
			const { server } = await useResilientServer()
			const backend = await startConnectServer()
			onTestFinished(() => backend.close())
			backend.play(fail(Code.Unavailable, { metadata: { 'grpc-retry-pushback-ms': '1' } }))
			const { client: inner } = useClient(backend, { serviceConfig: retrying() }, transport)
			server.play(async function* () {
				yield await inner.users.get({})
			})
			const { error } = await useConnectClient(transport, server).invoke('Get', {})
			expect(error?.code).toBe(Code.Unavailable)
			expect(error?.metadata.get('grpc-retry-pushback-ms')).toBe('-1')
		})

		test('a handler that is stopped runs its finally blocks', async () => {
			const runtime = virtualRuntime()
			const { server, until } = await useResilientServer({ runtime, defaultDeadlineMs: 1_000, bulkhead: {} })
			let isCleanedUp = false
			server.play(async function* () {
				try {
					for (;;) {
						await new Promise((resolve) => setImmediate(resolve))
						yield { text: 'a' }
					}
				} finally {
					isCleanedUp = true
				}
			})
			const client = useConnectClient(transport, server)
			let count = 0
			const { error } = await client.invoke(
				'List',
				{},
				{
					onItem: () => {
						if (++count === 3) return runtime.advance(1_000)
						return undefined
					},
				},
			)
			expect(error?.code).toBe(Code.DeadlineExceeded)
			await until(({ bulkhead }) => bulkhead?.concurrent === 0)
			expect(isCleanedUp).toBe(true)
		})

		test('a deadline of the client that is shorter than a request takes ends the call', async () => {
			const { server, interceptor, until } = await useResilientServer()
			server.play(hang())
			const { error } = await useConnectClient(transport, server).invoke('Get', {}, { timeoutMs: 50 })
			expect(error?.code).toBe(Code.DeadlineExceeded)
			await until(({ failures, cancelled }) => failures + cancelled === 1)
			expect(interceptor.stats.inFlight).toBe(0)
		})
	})
}
