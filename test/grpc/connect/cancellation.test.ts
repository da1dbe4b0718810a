import { Code, ConnectError } from '@connectrpc/connect'
import { expect, test } from 'vitest'
import { explain } from 'yaoki'
import { runWithContext } from 'yaoki/node'
import { retrying } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { fail, hang, reply } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'
import { testCancellation } from './suites/cancellation.ts'

const shared = useServer()

testCancellation(shared, 'connect', METHODS)

test('ends a wait in the queue of the bulkhead', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, { bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
	server.play(hang())
	const first = new AbortController()
	const second = new AbortController()
	const running = client.invoke('Get', {}, { signal: first.signal })
	const queued = client.invoke('Get', {}, { signal: second.signal })
	await server.called(1)
	expect(interceptor.stats.bulkhead).toMatchObject({ concurrent: 1, queued: 1 })
	second.abort()
	expect((await queued).error?.code).toBe(Code.Canceled)
	expect(interceptor.stats.bulkhead).toMatchObject({ concurrent: 1, queued: 0 })
	first.abort()
	await running
})

test('a call around that is over sends nothing', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server)
	server.play(reply({}))
	const { error } = await runWithContext({ signal: AbortSignal.abort() }, () => client.invoke('Get', {}))
	expect(error?.code).toBe(Code.Canceled)
	expect(interceptor.stats.attempts).toBe(0)
})

test('the error of an abort with a ConnectError is that error', async () => {
	const { server } = shared
	const { client } = useClient(server)
	server.play(hang())
	const controller = new AbortController()
	const call = client.invoke('Get', {}, { signal: controller.signal })
	await server.called(1)
	const reason = new ConnectError('enough', Code.Canceled)
	controller.abort(reason)
	const { error } = await call
	expect(error).toBe(reason)
	expect(explain(error)).toMatchObject({ stop: 'abort' })
})

test('leaves no listeners on the signal of the caller', async () => {
	const { server } = shared
	const { client } = useClient(server, { serviceConfig: retrying() })
	server.play([fail(Code.Unavailable), reply({})])
	const { signal } = new AbortController()
	let listeners = 0
	const { addEventListener, removeEventListener } = signal
	signal.addEventListener = (...args: never[]) => {
		listeners++
		Reflect.apply(addEventListener, signal, args)
	}
	signal.removeEventListener = (...args: never[]) => {
		listeners--
		Reflect.apply(removeEventListener, signal, args)
	}
	await runWithContext({ signal }, () => client.invoke('Get', {}))
	expect(listeners).toBe(0)
})
