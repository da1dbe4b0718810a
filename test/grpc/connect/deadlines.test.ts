import { Code } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { Deadline, DeadlineExceededError, explain } from 'yaoki'
import { runWithContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { retrying } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { fail, hang } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'
import { testDeadlines } from './suites/deadlines.ts'

const shared = useServer()

testDeadlines(shared, 'connect', METHODS)

test('a retry that would be too late is not waited for', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: retrying({ initialBackoff: '60s' }) })
	server.play(fail(Code.Unavailable))
	const { error } = await client.invoke('Get', {}, { timeoutMs: 30_000 })
	expect(error?.code).toBe(Code.Unavailable)
	expect(explain(error)).toMatchObject({ stop: 'deadline' })
})

test('the deadline ends a wait in the queue of the bulkhead', async () => {
	const { server } = shared
	const runtime = virtualRuntime()
	const { client } = useClient(server, { bulkhead: { maxConcurrent: 1, queueTimeoutMs: 90_000 }, runtime })
	server.play(hang())
	const controller = new AbortController()
	const running = client.invoke('Get', {}, { signal: controller.signal })
	const queued = client.invoke('Get', {}, { timeoutMs: 60_000 })
	await server.called(1)
	await runtime.advance(60_000)
	const { error } = await queued
	expect(error?.code).toBe(Code.DeadlineExceeded)
	expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
	controller.abort()
	await running
	expect(server.calls).toHaveLength(1)
})

test('a deadline of its own that passes counts for the breaker, an inherited one does not', async () => {
	const { server } = shared
	const runtime = virtualRuntime()
	const options = { circuitBreaker: { failureThreshold: 1 }, countedDeadlineMs: 60_000, runtime }
	server.play(hang())
	const own = useClient(server, options)
	const first = own.client.invoke('Get', {}, { timeoutMs: 60_000 })
	await server.called(1)
	await runtime.advance(60_000)
	expect((await first).error?.code).toBe(Code.DeadlineExceeded)
	expect(own.interceptor.stats.circuits).toMatchObject({ '': { state: 'open' } })
	const inherited = useClient(server, options)
	const second = runWithContext({ deadline: Deadline.after(60_000, { runtime }) }, () =>
		inherited.client.invoke('Get', {}),
	)
	await server.called(2)
	await runtime.advance(60_000)
	expect((await second).error?.code).toBe(Code.DeadlineExceeded)
	expect(inherited.interceptor.stats.circuits).toMatchObject({ '': { state: 'closed' } })
})
