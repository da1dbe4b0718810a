/** Lost connections and the circuit (regression: one reset with ten streams on it opened the circuit for all calls). */
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { resilientInterceptor } from 'yaoki/grpc'
import { eventuallyTrue } from '../../support/eventually.ts'
import { sendThenHang } from '../connect/connect-server.ts'
import { useClient, useServer } from '../connect/setup.ts'
import { hedging, retries } from '../support/configs.ts'
import type { FakeCall } from '../support/fake-call.ts'
import { FakeClient } from '../support/fake-caller.ts'
import {
	type Action,
	closeSocket,
	headers,
	message,
	startFaultyServer,
	stream,
} from '../support/faulty-server.ts'
import { useUsersClient } from '../support/users-client.ts'

const STREAMS = 10
const LOST = { details: 'Connection dropped' }
const ITEM = message({ text: 'a' })

describe.each(['fin', 'reset'] as const)(
	'a connection of grpc-js with ten streams that ends with %s',
	(how) => {
		async function lose(...before: readonly Action[]) {
			const gate = Promise.withResolvers<void>()
			const step = stream(...before, () => gate.promise, closeSocket(how))
			await using server = await startFaultyServer(() => step)
			const interceptor = resilientInterceptor(grpc)
			const client = useUsersClient(server.address, { interceptors: [interceptor] })
			const calls = Array.from({ length: STREAMS }, () => client.invoke('List', {}))
			if (before.includes(ITEM)) await Promise.all(calls.map((call) => call.received(1)))
			await server.requested(STREAMS)
			gate.resolve()
			for (const { done } of calls) expect((await done).error).toMatchObject({ code: 14 })
			return interceptor.stats.circuits['']
		}

		test('counts once', async () => {
			expect(await lose()).toMatchObject({ state: 'closed', consecutiveFailures: 1 })
		})

		test('does not count if the streams have delivered messages', async () => {
			expect(await lose(headers(), ITEM)).toMatchObject({ state: 'closed', consecutiveFailures: 0 })
		})
	},
)

describe.each([
	['no policy', undefined, 1],
	['retries', retries(2), 2],
	['hedging', hedging(2), 2],
] as const)('lost connections of calls with %s', (_, serviceConfig, attempts) => {
	test('count each time, if each call begins after the last loss', async () => {
		const client = new FakeClient({ serviceConfig })
		const { clock, interceptor } = client
		for (let n = 1; n <= 5; n++) {
			client.start({ onAttempt: (attempt) => queueMicrotask(() => attempt.end(14, LOST)) })
			await clock.advance(1_000)
			expect(interceptor.stats).toMatchObject({ attempts: n * attempts })
		}
		expect(interceptor.stats.circuits['']?.state).toBe('open')
	})

	test('count once, if the calls were in flight together', async () => {
		const client = new FakeClient({ serviceConfig })
		const { clock, interceptor } = client
		const active: FakeCall[] = []
		for (let n = 0; n < STREAMS; n++) client.start({ onAttempt: (attempt) => active.push(attempt) })
		for (let n = 0; n < attempts; n++) {
			for (const attempt of active) attempt.end(14, LOST)
			await clock.advance(1_000)
		}
		await clock.runUntilIdle()
		expect(interceptor.stats.failures).toBe(STREAMS)
		expect(interceptor.stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 1 })
	})
})

test('a status of the server counts for each call', async () => {
	const client = new FakeClient()
	const calls = Array.from({ length: STREAMS }, () => client.start())
	for (const call of calls) call.attempt(1).end(14)
	await client.clock.runUntilIdle()
	expect(client.interceptor.stats.circuits['']?.state).toBe('open')
})

test('connections that cannot be established count for each call', async () => {
	const client = new FakeClient()
	const details = 'No connection established. Last error: read ECONNRESET'
	const calls = Array.from({ length: STREAMS }, () => client.start())
	for (const call of calls) call.attempt(1).end(14, { details })
	await client.clock.runUntilIdle()
	expect(client.interceptor.stats.circuits['']?.state).toBe('open')
})

describe.each(['grpc', 'connect', 'grpc-web', 'connect on HTTP/1.1'] as const)(
	'connections of Connect with %s that are lost',
	(transport) => {
		const shared = useServer()

		test('do not count if the streams have delivered messages', async () => {
			const { server } = shared
			const { client, interceptor } = useClient(server, {}, transport)
			server.play(sendThenHang([{ text: 'a' }]))
			let received = 0
			const options = { onItem: () => received++ }
			const calls = Array.from({ length: STREAMS }, () => client.invoke('List', {}, options))
			await eventuallyTrue(() => received === STREAMS)
			server.cut()
			for (const { error } of await Promise.all(calls)) expect(error).toBeDefined()
			expect(interceptor.stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 0 })
		})
	},
)

test('a connection of Connect with ten requests that is reset counts once', async () => {
	const gate = Promise.withResolvers<void>()
	const step = stream(() => gate.promise, closeSocket('reset'))
	await using server = await startFaultyServer(() => step)
	const { client, interceptor } = useClient({ http2Url: server.origin })
	const calls = Array.from({ length: STREAMS }, () => client.invoke('Get', {}))
	await server.requested(STREAMS)
	gate.resolve()
	for (const { error } of await Promise.all(calls)) expect(error).toBeDefined()
	expect(interceptor.stats.circuits['']).toMatchObject({ state: 'closed', consecutiveFailures: 1 })
})
