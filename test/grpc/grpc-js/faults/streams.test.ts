import { constants } from 'node:http2'
import * as grpc from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { DeadlineExceededError, explain } from 'yaoki'
import { type GrpcClientOptions, resilientChannelOptions, resilientInterceptor } from 'yaoki/grpc'
import { quickRetries } from '../../support/configs.ts'
import {
	type Action,
	closeSocket,
	type FaultyServer,
	goAway,
	halfClose,
	headers,
	message,
	refuse,
	reset,
	startFaultyServer,
	stream,
	trailers,
} from '../../support/faulty-server.ts'
import type { MethodName } from '../../support/users.ts'
import { useUsersClient } from '../../support/users-client.ts'

const config = quickRetries(2, ['UNAVAILABLE', 'INTERNAL'])

function useClient(server: FaultyServer, options?: GrpcClientOptions) {
	const interceptor = resilientInterceptor(grpc, { serviceConfig: config, bulkhead: {}, ...options })
	const client = useUsersClient(server.address, {
		...resilientChannelOptions(config),
		interceptors: [interceptor],
	})
	return { client, interceptor }
}

/** Waits for this. */
const after =
	(event: Promise<void>): Action =>
	() =>
		event

const ok = stream(halfClose(), headers(), message({ text: 'ok' }), trailers(0))
const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']
const INTERNAL_ERROR = constants.NGHTTP2_INTERNAL_ERROR

describe.each(METHODS)('a stream of %s that is reset', (method) => {
	test('is retried by the policy if it is reset before headers', async () => {
		await using server = await startFaultyServer([stream(halfClose(), reset(INTERNAL_ERROR)), ok])
		const { client, interceptor } = useClient(server)
		const { status, items } = await client.invoke(method, {}).done
		expect(status.code).toBe(grpc.status.OK)
		expect(items).toMatchObject([{ text: 'ok' }])
		expect(interceptor.stats).toMatchObject({ attempts: 2, failures: 0, bufferedBytes: 0 })
	})

	test('is retried transparently if it is reset with REFUSED_STREAM', async () => {
		await using server = await startFaultyServer([stream(refuse()), ok])
		const { client, interceptor } = useClient(server)
		expect((await client.invoke(method, {}).done).status.code).toBe(grpc.status.OK)
		expect(interceptor.stats).toMatchObject({ attempts: 1, failures: 0 })
		expect(server.requests).toHaveLength(2)
	})

	test.each([
		['after headers', [], 0],
		['after a message', [message({ text: 'a' })], 1],
	])('%s is committed: the call fails and is not retried', async (_, actions, count) => {
		// A reset may overtake headers that have not been read.
		const { promise: headersRead, resolve } = Promise.withResolvers<void>()
		const step = stream(halfClose(), headers(), ...actions, after(headersRead), reset(INTERNAL_ERROR))
		await using server = await startFaultyServer([step, ok])
		const { client, interceptor } = useClient(server)
		const call = client.invoke(method, {})
		call.call.once('metadata', () => resolve())
		const { error, items } = await call.done
		expect(error?.code).toBe(grpc.status.INTERNAL)
		expect(explain(error)?.stop).toBe('committed')
		// A call with a single response does not pass on a message of a call that failed.
		expect(items).toHaveLength(method === 'List' || method === 'Chat' ? count : 0)
		expect(interceptor.stats).toMatchObject({ attempts: 1, failures: 1, bufferedBytes: 0 })
		expect(interceptor.stats.bulkhead).toMatchObject({ concurrent: 0 })
	})
})

test('GOAWAY in the middle of a stream that the server finishes changes nothing', async () => {
	await using server = await startFaultyServer([
		stream(headers(), message({ text: 'a' }), goAway('this'), message({ text: 'b' }), trailers(0)),
		ok,
	])
	const { client, interceptor } = useClient(server)
	expect(await client.list({})).toMatchObject([{ text: 'a' }, { text: 'b' }])
	expect((await client.get({})).text).toBe('ok')
	expect(interceptor.stats).toMatchObject({ calls: 2, attempts: 2, failures: 0 })
})

test('GOAWAY in the middle of a stream whose connection is then lost ends the call, which is committed', async () => {
	const { promise: headersRead, resolve } = Promise.withResolvers<void>()
	await using server = await startFaultyServer([
		stream(headers(), message({ text: 'a' }), goAway('this'), after(headersRead), closeSocket()),
		ok,
	])
	const { client, interceptor } = useClient(server)
	const call = client.invoke('List', {})
	call.call.once('metadata', () => resolve())
	const { error } = await call.done
	expect(error?.code).toBe(grpc.status.UNAVAILABLE)
	expect(explain(error)?.stop).toBe('committed')
	expect(interceptor.stats).toMatchObject({ attempts: 1, failures: 1 })
})

/** Stops the thread, as an operating system does that runs something else. */
function pause(ms: number): undefined {
	const start = performance.now()
	while (performance.now() - start < ms);
}

describe.each([
	['', undefined],
	// The timer of grpc-js fires at the deadline nevertheless. The call's own deadline was later then.
	[', also if the process stood still while the call was created', { getContext: () => pause(50) }],
])('headers and then silence', (name, options) => {
	test.each(METHODS)(`%s: end at the deadline${name}`, async (method) => {
		await using server = await startFaultyServer(stream(headers()))
		const { client, interceptor } = useClient(server, options)
		// On a busy machine a deadline may pass before the attempt starts. Then the next call has a later one.
		for (let ms = 300; interceptor.stats.attempts === 0; ms *= 2) {
			const { error } = await client.invoke(method, {}, { deadline: Date.now() + ms }).done
			expect(error).toMatchObject({
				code: grpc.status.DEADLINE_EXCEEDED,
				cause: expect.any(DeadlineExceededError),
			})
		}
		const { attempts, calls, failures, bulkhead } = interceptor.stats
		expect(attempts).toBe(1)
		expect(failures).toBe(calls)
		expect(bulkhead).toMatchObject({ concurrent: 0 })
	})
})
