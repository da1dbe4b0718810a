import { create } from '@bufbuild/protobuf'
import { Code } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { explain } from 'yaoki'
import { ItemSchema } from '../support/users.ts'
import { retrying } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { fail, reply } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'
import { testRetries } from './suites/retry.ts'

const shared = useServer()

testRetries(shared, 'connect', METHODS)

test('does not retry after two pushbacks', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: retrying() })
	server.play(fail(Code.Unavailable, { pushback: '1', trailers: { 'grpc-retry-pushback-ms': '2' } }))
	await client.invoke('Get', {})
	expect(server.calls).toHaveLength(1)
})

test('does not retry without a retry policy', async () => {
	const { server } = shared
	const { client } = useClient(server)
	server.play(fail(Code.Unavailable))
	const { error } = await client.invoke('Get', {})
	expect(error?.code).toBe(Code.Unavailable)
	expect(server.calls).toHaveLength(1)
	expect(explain(error)).toMatchObject({ stop: 'not-retried' })
})

test('does not retry while the tokens of retryThrottling are at most half', async () => {
	const { server } = shared
	const serviceConfig = retrying({ maxAttempts: 5, throttling: { maxTokens: 4, tokenRatio: 1 } })
	const { client, interceptor } = useClient(server, { serviceConfig, circuitBreaker: false })
	server.play(fail(Code.Unavailable))
	const { error } = await client.invoke('Get', {})
	expect(server.calls).toHaveLength(2)
	expect(explain(error)).toMatchObject({ stop: 'budget' })
	expect(interceptor.stats.throttling).toMatchObject({ tokens: 2 })
	server.play([reply({}), fail(Code.Unavailable), reply({})])
	await client.invoke('Get', {})
	await client.invoke('Get', {})
	expect(server.calls).toHaveLength(2)
})

test('a code that is not retryable does not count for retryThrottling', async () => {
	const { server } = shared
	const serviceConfig = retrying({ throttling: { maxTokens: 4, tokenRatio: 1 } })
	const { client, interceptor } = useClient(server, { serviceConfig })
	server.play(fail(Code.InvalidArgument))
	await client.invoke('Get', {})
	expect(interceptor.stats.throttling).toMatchObject({ tokens: 4 })
})

test('an exhausted budget prevents retries', async () => {
	const { server } = shared
	const budget = {
		recordRequest() {},
		canRetry: () => false,
		recordRetry() {},
		recordOutcome() {},
		available: () => 0,
	}
	const { client, interceptor } = useClient(server, { serviceConfig: retrying(), budget })
	server.play(fail(Code.Unavailable))
	const { error } = await client.invoke('Get', {})
	expect(server.calls).toHaveLength(1)
	expect(explain(error)).toMatchObject({ stop: 'budget' })
	expect(interceptor.stats.retriesAvailable).toBe(0)
})

test('each attempt has the headers of the call, and none of those that an earlier attempt has added', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: retrying() }, 'grpc', {
		inner: [
			(next) => (request) => {
				request.header.append('x-inner', 'i')
				return next(request)
			},
		],
		outer: [
			(next) => (request) => {
				request.header.set('x-outer', 'o')
				return next(request)
			},
		],
	})
	server.play([fail(Code.Unavailable), reply({})])
	await client.invoke('Get', {}, { headers: { 'x-caller': 'c' } })
	for (const { header } of server.calls)
		expect([header.get('x-caller'), header.get('x-outer'), header.get('x-inner')]).toEqual(['c', 'o', 'i'])
})

test('an interceptor further in sees every attempt, one further out sees the call', async () => {
	const { server } = shared
	const seen: string[] = []
	const { client } = useClient(server, { serviceConfig: retrying() }, 'grpc', {
		inner: [
			(next) => async (request) => {
				seen.push('inner')
				return next(request)
			},
		],
		outer: [
			(next) => async (request) => {
				seen.push('outer')
				return next(request)
			},
		],
	})
	server.play([fail(Code.Unavailable), reply({})])
	await client.invoke('List', {})
	expect(seen).toEqual(['outer', 'inner', 'inner'])
})

test('an error of an interceptor further in is the error of an attempt', async () => {
	const { server } = shared
	const broken = new Error('no token')
	const { client } = useClient(
		server,
		{ serviceConfig: retrying({ codes: ['UNKNOWN'], maxAttempts: 2 }) },
		'grpc',
		{
			inner: [
				() => () => {
					throw broken
				},
			],
		},
	)
	server.play(reply({}))
	const { error } = await client.invoke('Get', {})
	expect(error).toMatchObject({ code: Code.Unknown, cause: broken })
	expect(explain(error)).toMatchObject({ attempts: [{}, {}] })
	expect(server.calls).toHaveLength(0)
})

test('a message that is changed after the call is retried as it was sent', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: retrying() })
	server.play([fail(Code.Unavailable), reply({})])
	const item = create(ItemSchema, { text: 'before', data: new Uint8Array([1]) })
	const call = client.invoke('Get', item)
	await server.called(1)
	item.text = 'after'
	item.data[0] = 2
	await call
	for (const { messages } of server.calls)
		expect(messages).toMatchObject([{ text: 'before', data: new Uint8Array([1]) }])
	expect(server.calls).toHaveLength(2)
})

test('a message above the buffer is sent once', async () => {
	const { server } = shared
	const { client, events, interceptor } = useClient(server, {
		serviceConfig: retrying(),
		maxBufferBytesPerCall: 100,
	})
	server.play(fail(Code.Unavailable))
	const { error } = await client.invoke('Get', { data: new Uint8Array(200) })
	expect(error?.code).toBe(Code.Unavailable)
	expect(server.calls).toHaveLength(1)
	expect(explain(error)).toMatchObject({ stop: 'committed' })
	expect(events.at(-1)).toMatchObject({ type: 'call', grpcCommittedBy: 'buffer', grpcStatus: 'UNAVAILABLE' })
	expect(interceptor.stats.bufferedBytes).toBe(0)
})

test('metadata that is not ASCII ends the call with Internal, and nothing is sent', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, { serviceConfig: retrying({ codes: ['INTERNAL'] }) })
	server.play(reply({}))
	const { error } = await client.invoke('Get', {}, { headers: { 'x-name': 'Zoë' } })
	expect(error).toMatchObject({ code: Code.Internal })
	expect(error?.message).toContain('"x-name"')
	expect(server.calls).toHaveLength(0)
	expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 0, failures: 1 })
})
