import { afterAll, beforeAll, expect } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import type { MethodName } from '../support/users.ts'
import { fail, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'
import { expectTestsOf } from './rule-tests.ts'
import { STATUS_CODES } from './rules/retry.ts'
import { type Subject, testBoth, useClient } from './subjects.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const FAST = { ...RETRY, maxAttempts: 3, initialBackoff: '0.001s', maxBackoff: '0.001s' }
const CODES = Array.from({ length: 16 }, (_, index) => index + 1)

const useRetries = (subject: Subject, retryableStatusCodes: readonly (number | string)[]) =>
	useClient(subject, server.address, withMethod({ retryPolicy: { ...FAST, retryableStatusCodes } }))

testBoth('A6 status codes: a status in retryableStatusCodes is retried', async (subject) => {
	for (const code of CODES) {
		server.play([fail(code), reply({ text: 'a' })])
		expect((await useRetries(subject, [code]).get({})).text).toBe('a')
		expect(server.calls).toHaveLength(2)
	}
})

testBoth('A6 status codes: any other status is returned without a retry', async (subject) => {
	for (const code of CODES) {
		server.play(fail(code))
		const others = CODES.filter((other) => other !== code)
		expect((await useRetries(subject, others).invoke('Get', {}).done).error?.code).toBe(code)
		expect(server.calls).toHaveLength(1)
	}
})

testBoth('A6 status codes: OK ends the call', async (subject) => {
	server.play([fail(14), reply({ text: 'a' }), reply({ text: 'b' })])
	expect((await useRetries(subject, CODES).get({})).text).toBe('a')
	expect(server.calls).toHaveLength(2)
})

testBoth('A6 status codes: after the last attempt its status is returned', async (subject) => {
	server.play([
		fail(14, { details: 'first' }),
		fail(10, { details: 'second' }),
		fail(8, { details: 'third', trailers: { 'x-t': '3' } }),
	])
	const { error, status } = await useRetries(subject, CODES).invoke('Get', {}).done
	expect(error).toMatchObject({ code: 8, details: 'third' })
	expect(status.metadata.get('x-t')).toEqual(['3'])
})

testBoth('A6 status codes: calls of all four kinds are retried', async (subject) => {
	const methods: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']
	for (const method of methods) {
		server.play([fail(14), fail(14), reply({ text: 'a' })])
		const { items, status } = await useRetries(subject, [14]).invoke(method, { text: 'q' }).done
		expect({ items, code: status.code }).toMatchObject({ items: [{ text: 'a' }], code: 0 })
		expect(server.calls.map(({ messages }) => messages[0]?.text)).toEqual(['q', 'q', 'q'])
	}
})

expectTestsOf(STATUS_CODES)
