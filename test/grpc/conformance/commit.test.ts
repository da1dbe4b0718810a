import { afterAll, beforeAll, expect } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import type { MethodName } from '../support/users.ts'
import { fail, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails, hangs, sendsHeaders } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { COMMITTED } from './rules/internals.ts'
import { testBoth, useClient, useVirtualClient } from './subjects.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']
const RETRIES = withMethod({ retryPolicy: { ...RETRY, initialBackoff: '0.001s', maxBackoff: '0.001s' } })
const HEDGES = withMethod({
	hedgingPolicy: { maxAttempts: 4, hedgingDelay: '0.5s', nonFatalStatusCodes: ['UNAVAILABLE'] },
})
const LONG_MS = 100_000

testBoth('A6 commit: response headers commit the call: a later failure is returned', async (subject) => {
	for (const method of METHODS) {
		server.play([fail(14, { headers: { 'x-h': '1' } }), reply({})])
		const { error, headers } = await useClient(subject, server.address, RETRIES).invoke(method, {}).done
		expect(error?.code).toBe(14)
		expect(headers?.get('x-h')).toEqual(['1'])
		expect(server.calls).toHaveLength(1)
	}
})

testBoth('A6 commit: a trailers-only response does not commit the call', async (subject) => {
	for (const method of METHODS) {
		server.play([fail(14, { trailers: { 'x-t': '1' } }), reply({ text: 'a' })])
		const { items } = await useClient(subject, server.address, RETRIES).invoke(method, {}).done
		expect(items).toMatchObject([{ text: 'a' }])
		expect(server.calls).toHaveLength(2)
	}
})

testBoth('A6 commit: the caller receives the headers of one attempt only', async (subject) => {
	server.play([fail(14), reply({}, { headers: { 'x-h': '2' } })])
	const { call, done } = useClient(subject, server.address, RETRIES).invoke('Get', {})
	const received: unknown[] = []
	call.on('metadata', (headers) => received.push(headers.get('x-h')))
	await done
	expect(received).toEqual([['2']])
})

testBoth('A6 commit: hedging: response headers cancel the other requests', async (subject) => {
	const virtual = useVirtualServer([hangs(), sendsHeaders({ afterMs: 700 }), hangs()])
	const { cancel, done } = useVirtualClient(subject, virtual, HEDGES).invoke('List', {})
	await virtual.advance(1_300)
	expect(virtual.times).toEqual([0, 500, 1_000])
	expect(virtual.requests.map(({ cancelledAt }) => cancelledAt)).toEqual([1_200, undefined, 1_200])
	cancel()
	await virtual.advance(0)
	await done
})

testBoth('A6 commit: hedging: after response headers no further requests are sent', async (subject) => {
	const virtual = useVirtualServer([sendsHeaders({ afterMs: 100 })])
	const { cancel, done } = useVirtualClient(subject, virtual, HEDGES).invoke('List', {})
	await virtual.advance(LONG_MS)
	expect(virtual.times).toEqual([0])
	cancel()
	await virtual.advance(0)
	await done
})

testBoth('A6 commit: hedging: a non-fatal status after response headers is returned', async (subject) => {
	const virtual = useVirtualServer([hangs(), fails(14, { afterMs: 100, hasHeaders: true }), hangs()])
	const { done } = useVirtualClient(subject, virtual, HEDGES).invoke('List', {})
	await virtual.advance(LONG_MS)
	expect((await done).error?.code).toBe(14)
	expect(virtual.times).toEqual([0, 500])
})

expectTestsOf(COMMITTED)
