/** Features of transports that retries must not disturb. */
import * as connect from '@connectrpc/connect'
import { compressionGzip, createConnectTransport } from '@connectrpc/connect-node'
import { describe, expect, test } from 'vitest'
import { resilientConnectInterceptor } from 'yaoki/grpc'
import { Users } from '../support/users.ts'
import { retrying } from './configs.ts'
import { fail, reply } from './connect-server.ts'
import { useServer } from './setup.ts'

const { Code } = connect
const shared = useServer()

describe('compression', () => {
	test.each([
		['a message that is compressed', 'x'.repeat(5_000)],
		['a message that is too small for it', 'x'],
	])('%s is sent again', async (_, text) => {
		const { server } = shared
		const transport = createConnectTransport({
			baseUrl: server.http1Url,
			httpVersion: '1.1',
			sendCompression: compressionGzip,
			compressMinBytes: 1_000,
			interceptors: [resilientConnectInterceptor(connect, { serviceConfig: retrying() })],
		})
		server.play([fail(Code.Unavailable), reply({ text: 'a' })])
		const client = connect.createClient(Users, transport)
		expect(await client.get({ text })).toMatchObject({ text: 'a' })
		for (const { messages } of server.calls) expect(messages).toMatchObject([{ text }])
		expect(server.calls.map(({ header }) => header.get('content-encoding'))).toEqual(
			text.length > 1 ? ['gzip', 'gzip'] : [null, null],
		)
	})
})

test('context values reach every attempt and the interceptors further in', async () => {
	const { server } = shared
	const key = connect.createContextKey('default')
	const seen: string[] = []
	const transport = createConnectTransport({
		baseUrl: server.http1Url,
		httpVersion: '1.1',
		interceptors: [
			resilientConnectInterceptor(connect, { serviceConfig: retrying() }),
			(next) => (request) => {
				seen.push(request.contextValues.get(key))
				return next(request)
			},
		],
	})
	server.play([fail(Code.Unavailable), reply({})])
	const contextValues = connect.createContextValues().set(key, 'mine')
	await connect.createClient(Users, transport).get({}, { contextValues })
	expect(seen).toEqual(['mine', 'mine'])
})

test('a transport in memory', async () => {
	let calls = 0
	const transport = connect.createRouterTransport(
		(router) => {
			router.service(Users, {
				get: () => {
					if (++calls < 3) throw new connect.ConnectError('down', Code.Unavailable)
					return { text: 'a' }
				},
				async *list() {
					if (++calls < 3) throw new connect.ConnectError('down', Code.Unavailable)
					yield { text: 'a' }
				},
			})
		},
		{
			transport: { interceptors: [resilientConnectInterceptor(connect, { serviceConfig: retrying() })] },
		},
	)
	const client = connect.createClient(Users, transport)
	expect(await client.get({})).toMatchObject({ text: 'a' })
	calls = 0
	const items = []
	for await (const item of client.list({})) items.push(item)
	expect(items).toMatchObject([{ text: 'a' }])
})

test('details of an error are those of the server', async () => {
	const { server } = shared
	const transport = createConnectTransport({
		baseUrl: server.http1Url,
		httpVersion: '1.1',
		interceptors: [resilientConnectInterceptor(connect)],
	})
	server.play(async function* () {
		yield* []
		throw new connect.ConnectError('no', Code.FailedPrecondition, undefined, [
			{ desc: Users.method.get.input, value: { text: 'detail' } },
		])
	})
	const error = await connect
		.createClient(Users, transport)
		.get({})
		.catch((thrown: connect.ConnectError) => thrown)
	expect(error).toBeInstanceOf(connect.ConnectError)
	if (error instanceof connect.ConnectError)
		expect(error.findDetails(Users.method.get.input)).toMatchObject([{ text: 'detail' }])
})
