import { createClient } from '@connectrpc/connect'
import { createGrpcTransport } from '@connectrpc/connect-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MethodName, Users } from './users.ts'
import { useUsersClient } from './users-client.ts'
import { fail, hang, reply, sendThenHang, startUsersServer, type UsersServer } from './users-server.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

describe.each(METHODS)('a scripted grpc-js server: %s', (method) => {
	test('fails as often as scripted and then succeeds', async () => {
		const client = useUsersClient(server.address)
		server.play([fail(14, { pushback: '7' }), reply({ text: 'a', count: 2, data: new Uint8Array([1]) })])
		const failed = await client.invoke(method, { text: 'q' }).done
		expect(failed.error).toMatchObject({ code: 14, details: 'the test server fails' })
		expect(failed.status.metadata.get('grpc-retry-pushback-ms')).toEqual(['7'])
		expect(failed.headers?.getMap() ?? {}).toEqual({})
		const { items, status } = await client.invoke(method, { text: 'q' }).done
		expect(status.code).toBe(0)
		expect(items).toMatchObject([{ text: 'a', count: 2, data: new Uint8Array([1]) }])
		expect(server.calls).toMatchObject([
			{ method, messages: [{ text: 'q' }], isHalfClosed: true, isEnded: true, isCancelled: false },
			{ method, previousAttempts: undefined, deadline: Number.POSITIVE_INFINITY },
		])
	})

	test('sends headers and then nothing until the client cancels', async () => {
		const client = useUsersClient(server.address)
		server.play(sendThenHang([], { 'x-a': 'b' }))
		const call = client.invoke(
			method,
			{},
			{ metadata: { 'grpc-previous-rpc-attempts': '3' }, deadline: Date.now() + 60_000 },
		)
		await new Promise((resolve) => call.call.once('metadata', resolve))
		call.cancel()
		expect(await call.done).toMatchObject({ status: { code: 1 }, error: { code: 1 } })
		expect(await server.cancelled(1)).toMatchObject({ previousAttempts: '3', isEnded: false })
		expect(server.calls[0]?.deadline).toBeGreaterThan(Date.now())
	})

	test('never responds', async () => {
		const client = useUsersClient(server.address)
		server.play(hang())
		const call = client.invoke(method, {})
		await server.called(1)
		call.cancel()
		expect((await call.done).headers).toBeUndefined()
		await server.cancelled(1)
	})
})

test('a handler without steps replaces one method', async () => {
	const client = useUsersClient(server.address)
	server.play(reply({ text: 'step' }))
	server.handle('Get', (_call, callback) => callback(null, { text: 'handler' }))
	expect((await client.get({})).text).toBe('handler')
	expect((await client.list({}))[0]?.text).toBe('step')
	expect((await client.upload([{}])).text).toBe('step')
	expect((await client.chat([{}]))[0]?.text).toBe('step')
	server.play({ Get: [reply({ text: 'own' })] })
	expect((await client.get({})).text).toBe('own')
})

test('the promises of the client reject with the error of the call', async () => {
	const client = useUsersClient(server.address)
	server.play(fail(5, { details: 'no such user' }))
	await expect(client.get({})).rejects.toMatchObject({ code: 5, details: 'no such user' })
	await expect(client.list({})).rejects.toMatchObject({ code: 5 })
})

test('the same descriptor serves Connect', async () => {
	server.play({ Get: [reply({ text: 'one' })], List: [reply([{ text: 'a' }, { text: 'b' }])] })
	const client = createClient(Users, createGrpcTransport({ baseUrl: `http://${server.address}` }))
	expect(await client.get({ text: 'q' })).toMatchObject({ text: 'one' })
	const texts: string[] = []
	for await (const { text } of client.list({})) texts.push(text)
	expect(texts).toEqual(['a', 'b'])
	expect(server.calls[0]?.messages).toMatchObject([{ text: 'q' }])
})
