/** What the interceptor must not change: every test runs once without it and once with it, on a real server. */
import { createServer } from 'node:net'
import zlib from 'node:zlib'
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { listen } from '../../support/listen.ts'
import { retries } from '../support/configs.ts'
import { type Item, type ItemInit, type MethodName, usersMethods } from '../support/users.ts'
import { type UsersClient, useUsersClient } from '../support/users-client.ts'
import { fail, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const config = retries(2)
const create = () =>
	resilientInterceptor(grpc, { serviceConfig: config, circuitBreaker: {}, bulkhead: {}, budget: true })

interface Around {
	readonly before?: readonly grpc.Interceptor[]
	readonly after?: readonly grpc.Interceptor[]
	readonly address?: string
	readonly channel?: grpc.ChannelOptions
}

function bare({ before = [], after = [], address = server.address, channel }: Around = {}): UsersClient {
	return useUsersClient(address, { ...channel, interceptors: [...before, ...after] })
}

function resilient({ before = [], after = [], address = server.address, channel }: Around = {}): UsersClient {
	return useUsersClient(address, {
		...resilientChannelOptions(config),
		...channel,
		interceptors: [...before, create(), ...after],
	})
}

const BOTH: readonly (readonly [name: string, use: (around?: Around) => UsersClient])[] = [
	['without the interceptor', bare],
	['with the interceptor', resilient],
]

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

/** Calls a method as if it had one request and one response, whatever the server does. */
function unary(
	client: UsersClient,
	method: Partial<(typeof usersMethods)['Get']>,
	options: grpc.CallOptions = {},
) {
	const { path, requestSerialize, responseDeserialize } = { ...usersMethods.Get, ...method }
	return new Promise<{ error: grpc.ServiceError | null; item: Item | undefined }>((resolve) => {
		client.makeUnaryRequest<ItemInit, Item>(
			path,
			requestSerialize,
			responseDeserialize,
			{},
			options,
			(error, response) => resolve({ error, item: response }),
		)
	})
}

describe.each(BOTH)('%s', (_, use) => {
	test('call credentials add their metadata to the call', async () => {
		server.play(reply({ text: 'a' }))
		const credentials = grpc.credentials.createFromMetadataGenerator((__, callback) => {
			const metadata = new grpc.Metadata()
			metadata.set('authorization', 'Bearer 7')
			setImmediate(() => callback(null, metadata))
		})
		for (const method of METHODS) {
			const { status } = await use().invoke(method, {}, { credentials }).done
			expect(status.code).toBe(0)
		}
		expect(server.calls.map(({ metadata }) => metadata.get('authorization'))).toEqual(
			METHODS.map(() => ['Bearer 7']),
		)
	})

	test('messages are compressed, once for each attempt', async () => {
		const text = 'a'.repeat(50_000)
		const compressed = vi.spyOn(zlib, 'gzip')
		const client = use({ channel: { 'grpc.default_compression_algorithm': 2 } })
		server.play(reply({ text }))
		for (const method of METHODS) {
			const { items } = await client.invoke(method, { text }).done
			expect(items).toMatchObject([{ text }])
		}
		expect(server.calls.map(({ messages }) => messages[0]?.text === text)).toEqual(METHODS.map(() => true))
		expect(compressed).toHaveBeenCalledTimes(METHODS.length)
	})

	test('interceptors on both sides may start, send and half-close later', async () => {
		const seen: string[] = []
		const later =
			(name: string): grpc.Interceptor =>
			(options, nextCall) =>
				new grpc.InterceptingCall(nextCall(options), {
					start: (metadata, listener, next) =>
						setImmediate(() => {
							seen.push(`${name} starts`)
							metadata.set(`x-${name}`, '1')
							next(metadata, listener)
						}),
					sendMessage: (message, next) => setImmediate(() => next(message)),
					halfClose: (next) => setImmediate(next),
				})
		const client = use({ before: [later('outer')], after: [later('inner')] })
		server.play(reply({ text: 'a' }))
		for (const method of METHODS) {
			const { items, status } = await client.invoke(method, { text: 'q' }).done
			expect([status.code, items]).toMatchObject([0, [{ text: 'a' }]])
		}
		for (const { metadata, messages, isHalfClosed } of server.calls) {
			expect([metadata.get('x-outer'), metadata.get('x-inner')]).toEqual([['1'], ['1']])
			expect([messages, isHalfClosed]).toMatchObject([[{ text: 'q' }], true])
		}
		expect(seen).toEqual(METHODS.flatMap(() => ['outer starts', 'inner starts']))
	})

	test('a unary call with two responses ends at its deadline, because grpc-js reads one', async () => {
		server.play(reply([{ text: 'a' }, { text: 'b' }]))
		const deadline = Date.now() + 300
		const { error } = await unary(use(), { path: usersMethods.List.path }, { deadline })
		expect(error).toMatchObject({ code: 4 })
		expect(server.calls.length).toBeLessThanOrEqual(1)
	})

	test('a unary call that succeeds without a response is UNIMPLEMENTED', async () => {
		server.play(reply([]))
		const { error } = await unary(use(), { path: usersMethods.List.path })
		expect(error).toMatchObject({ code: 12, details: 'No message received' })
	})

	test('a response that cannot be deserialized is INTERNAL, and the request is not repeated', async () => {
		server.play(reply({ text: 'a' }))
		const { error } = await unary(use(), {
			responseDeserialize: () => {
				throw new RangeError('not an item')
			},
		})
		expect(error).toMatchObject({ code: 13, details: expect.stringContaining('not an item') })
		expect(server.calls).toHaveLength(1)
	})

	test('a request that cannot be serialized is INTERNAL, and nothing is sent', async () => {
		server.play(reply({ text: 'a' }))
		const { error } = await unary(use(), {
			requestSerialize: () => {
				throw new RangeError('not an item')
			},
		})
		expect(error).toMatchObject({ code: 13, details: expect.stringContaining('not an item') })
		expect(server.calls.flatMap(({ messages }) => messages)).toEqual([])
	})

	test('a refused connection is UNAVAILABLE, with the address', async () => {
		const closed = createServer()
		const port = await listen(closed)
		await new Promise((resolve) => closed.close(resolve))
		const { error } = await use({ address: `127.0.0.1:${port}` }).invoke('Get', {}).done
		expect(error).toMatchObject({ code: 14, details: expect.stringContaining(`127.0.0.1:${port}`) })
	})

	test('the error has the stack of the caller', async () => {
		server.play(fail(3, { details: 'bad id' }))
		const error = await use()
			.get({})
			.catch((failure: unknown) => failure)
		expect(error).toMatchObject({ code: 3, details: 'bad id', message: '3 INVALID_ARGUMENT: bad id' })
		expect((error as Error).stack).toContain('UsersClient.get')
	})
})

test('an interceptor further in sees every attempt, with the metadata of that attempt', async () => {
	const seen: unknown[] = []
	const inner: grpc.Interceptor = (options, nextCall) =>
		new grpc.InterceptingCall(nextCall(options), {
			start: (metadata, listener, next) => {
				seen.push(metadata.get('grpc-previous-rpc-attempts'))
				metadata.set('x-inner', String(seen.length))
				next(metadata, listener)
			},
		})
	server.play([fail(14), reply({ text: 'a' })])
	await resilient({ after: [inner] }).get({})
	expect(seen).toEqual([[], ['1']])
	expect(server.calls.map(({ metadata }) => metadata.get('x-inner'))).toEqual([['1'], ['2']])
})

test('an interceptor further out sees one call, whatever the number of attempts', async () => {
	const seen: number[] = []
	const outer: grpc.Interceptor = (options, nextCall) =>
		new grpc.InterceptingCall(nextCall(options), {
			start: (metadata, _, next) =>
				next(metadata, {
					onReceiveStatus: (status, nextStatus) => {
						seen.push(status.code)
						nextStatus(status)
					},
				}),
		})
	server.play([fail(14), reply({ text: 'a' })])
	await resilient({ before: [outer] }).get({})
	expect(seen).toEqual([0])
	expect(server.calls).toHaveLength(2)
})

test.each(BOTH)(
	'%s, an error in the callback is an uncaught exception, and later calls work',
	async (_, use) => {
		const uncaught: unknown[] = []
		const listeners = process.listeners('uncaughtException')
		process.removeAllListeners('uncaughtException')
		const thrown = new RangeError('in the callback')
		const client = use()
		try {
			const caught = new Promise<void>((resolve) => {
				process.on('uncaughtException', (error) => {
					uncaught.push(error)
					resolve()
				})
			})
			server.play(reply({ text: 'a' }))
			const { path, requestSerialize, responseDeserialize } = usersMethods.Get
			client.makeUnaryRequest<ItemInit, Item>(path, requestSerialize, responseDeserialize, {}, () => {
				throw thrown
			})
			await caught
			for (let n = 0; n < 20; n++) expect(await client.get({})).toMatchObject({ text: 'a' })
		} finally {
			process.removeAllListeners('uncaughtException')
			for (const listener of listeners) process.on('uncaughtException', listener)
		}
		expect(uncaught).toEqual([thrown])
	},
)
