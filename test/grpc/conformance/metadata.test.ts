import { afterAll, beforeAll, expect, test } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import { fail, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'
import { expectTestsOf } from './rule-tests.ts'
import { EXPOSED } from './rules/internals.ts'
import { type Subject, testBoth, useClient } from './subjects.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const KEY = 'grpc-previous-rpc-attempts'
const RETRIES = withMethod({ retryPolicy: { ...RETRY, initialBackoff: '0.001s', maxBackoff: '0.001s' } })

const previousAttempts = () => server.calls.map((call) => call.previousAttempts)

testBoth(
	'A6 metadata: grpc-previous-rpc-attempts is absent in the first attempt, 1 in the second, and so on',
	async (subject) => {
		server.play(fail(14))
		await useClient(subject, server.address, RETRIES).invoke('Get', {}).done
		expect(previousAttempts()).toEqual([undefined, '1', '2', '3'])
	},
)

testBoth('A6 metadata: hedged requests count the requests before them', async (subject) => {
	const hedgingPolicy = { maxAttempts: 4, hedgingDelay: '600s', nonFatalStatusCodes: [14] }
	server.play(fail(14))
	await useClient(subject, server.address, withMethod({ hedgingPolicy })).invoke('Get', {}).done
	expect(previousAttempts()).toEqual([undefined, '1', '2', '3'])
})

/** Returns the value in the response headers of a call that succeeds at the second attempt. */
async function returnedValue(subject: Subject): Promise<unknown> {
	server.play([fail(14), reply({}, { headers: { 'x-h': '1' } })])
	return (await useClient(subject, server.address, RETRIES).invoke('Get', {}).done).headers?.get(KEY)
}

test('A6 metadata: the client may add grpc-previous-rpc-attempts to the response headers', async () => {
	expect(await returnedValue('grpc-js')).toEqual(['1'])
})

test('Yaoki returns the headers as the server has sent them', async () => {
	expect(await returnedValue('Yaoki')).toEqual([])
})

expectTestsOf(EXPOSED)
