/** A client of Connect and a server of grpc-js. */
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { fail, hang, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'
import { hedging, retrying, timingOut } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { useClient } from './setup.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const place = () => ({ http2Url: `http://${server.address}` })

describe.each(METHODS)('%s', (method) => {
	test('retries with all messages', async () => {
		const { client } = useClient(place(), { serviceConfig: retrying() })
		server.play([fail(14), fail(14, { readsAll: false }), reply({ text: 'a' }, { trailers: { 'x-t': '2' } })])
		const messages =
			method === 'Upload' || method === 'Chat' ? [{ text: 'q' }, { text: 'r' }] : [{ text: 'q' }]
		const { items, trailers, error } = await client.invoke(method, messages)
		expect(error).toBeUndefined()
		expect(items).toMatchObject([{ text: 'a' }])
		expect(trailers?.get('x-t')).toBe('2')
		expect(server.calls.map(({ previousAttempts }) => previousAttempts)).toEqual([undefined, '1', '2'])
		expect(server.calls[2]).toMatchObject({ messages })
	})

	test('follows a pushback', async () => {
		const { client } = useClient(place(), { serviceConfig: retrying({ initialBackoff: '60s' }) })
		server.play([fail(14, { pushback: '1' }), reply({ text: 'a' })])
		expect((await client.invoke(method, {})).items).toMatchObject([{ text: 'a' }])
		server.play(fail(14, { pushback: '-1' }))
		expect(explain((await client.invoke(method, {})).error)).toMatchObject({ stop: 'server-veto' })
	})

	test('sends the deadline', async () => {
		const { client } = useClient(place(), { serviceConfig: timingOut('50s') })
		server.play(reply({}))
		await client.invoke(method, {})
		const remainingMs = (server.calls[0]?.deadline ?? Infinity) - Date.now()
		expect(remainingMs).toBeLessThanOrEqual(50_000)
		expect(remainingMs).toBeGreaterThan(20_000)
	})

	test('cancels the other requests of a hedged call', async () => {
		const { client } = useClient(place(), { serviceConfig: hedging() })
		const { promise: areTwo, resolve: respond } = Promise.withResolvers<void>()
		server.play([hang(), reply({ text: 'b' }, { after: areTwo })])
		const call = client.invoke(method, {})
		await server.called(2)
		respond()
		expect((await call).items).toMatchObject([{ text: 'b' }])
		await server.cancelled(1)
	})

	test('cancels the request', async () => {
		const { client } = useClient(place(), { serviceConfig: retrying() })
		server.play(hang())
		const controller = new AbortController()
		const call = client.invoke(method, {}, { signal: controller.signal })
		await server.called(1)
		controller.abort()
		expect((await call).error?.code).toBe(Code.Canceled)
		await server.cancelled(1)
	})
})
