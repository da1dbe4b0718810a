/** What callers of a grpc-js client receive when a policy ends the call, and what listeners see. */
import * as grpc from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BulkheadRejectedError, CircuitOpenError, DeadlineExceededError, explain, lint } from 'yaoki'
import {
	type GrpcClientOptions,
	type GrpcEvent,
	parseServiceConfig,
	resilientChannelOptions,
	resilientInterceptor,
} from 'yaoki/grpc'
import { inMemoryMetrics, observe } from 'yaoki/telemetry'
import { retries } from '../support/configs.ts'
import { type MethodName, SERVICE } from '../support/users.ts'
import { useUsersClient } from '../support/users-client.ts'
import { fail, hang, reply, startUsersServer, type UsersServer } from '../support/users-server.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

function useClient(options: GrpcClientOptions = {}) {
	const interceptor = resilientInterceptor(grpc, options)
	const client = useUsersClient(server.address, {
		...(options.serviceConfig && resilientChannelOptions(options.serviceConfig)),
		interceptors: [interceptor],
	})
	const events: GrpcEvent[] = []
	interceptor.subscribe((event) => events.push(event))
	return { client, interceptor, events }
}

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

describe.each(METHODS)('a policy that rejects %s', (method) => {
	test('an open circuit is UNAVAILABLE, and nothing is sent', async () => {
		const { client, interceptor } = useClient({
			serviceConfig: retries(),
			circuitBreaker: { failureThreshold: 1 },
		})
		server.play(fail(13))
		await client.invoke(method, {}).done
		const { error } = await client.invoke(method, {}).done
		expect(error).toMatchObject({ code: grpc.status.UNAVAILABLE, metadata: expect.any(grpc.Metadata) })
		expect(error?.cause).toBeInstanceOf(CircuitOpenError)
		expect(explain(error)).toMatchObject({ stop: 'rejected', errorType: 'CircuitOpenError' })
		expect(server.calls).toHaveLength(1)
		expect(interceptor.stats).toMatchObject({ calls: 2, failures: 2, attempts: 1 })
	})

	test('a full bulkhead is RESOURCE_EXHAUSTED, and nothing is sent', async () => {
		const { client } = useClient({
			serviceConfig: retries(),
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
		})
		server.play(hang())
		const running = client.invoke(method, {})
		const { error } = await client.invoke(method, {}).done
		expect(error).toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED })
		expect(error?.cause).toBeInstanceOf(BulkheadRejectedError)
		expect(explain(error)).toMatchObject({ stop: 'rejected', errorType: 'BulkheadRejectedError' })
		running.cancel()
		await running.done
		expect(server.calls.length).toBeLessThanOrEqual(1)
	})

	test('a deadline during a wait in the queue is DEADLINE_EXCEEDED', async () => {
		const { client } = useClient({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		server.play(hang())
		const running = client.invoke(method, {})
		const { error } = await client.invoke(method, {}, { deadline: Date.now() + 50 }).done
		expect(error).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED })
		expect(error?.cause).toBeInstanceOf(Error)
		expect(explain(error)?.attempts).toEqual([])
		running.cancel()
		await running.done
	})

	test('a deadline in the past is DEADLINE_EXCEEDED, and nothing is sent', async () => {
		const { client, interceptor } = useClient({ serviceConfig: retries() })
		server.play(reply({}))
		const { error } = await client.invoke(method, {}, { deadline: Date.now() - 1_000 }).done
		expect(error).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED })
		expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
		expect(server.calls).toEqual([])
		expect(interceptor.stats.attempts).toBe(0)
	})
})

test('statuses of the caller’s own mistakes do not open the circuit, those of a failing server do', async () => {
	const { client, interceptor } = useClient({ circuitBreaker: { failureThreshold: 2 } })
	const state = () => interceptor.stats.circuits['']?.state
	for (const code of [3, 5, 6, 7, 9, 11, 12, 16]) {
		server.play(fail(code))
		for (let n = 0; n < 3; n++) await client.invoke('Get', {}).done
		expect([code, state()]).toEqual([code, 'closed'])
	}
	server.play(hang())
	for (let n = 0; n < 3; n++) {
		const call = client.invoke('Get', {})
		await server.called(n + 1)
		call.cancel()
		expect((await call.done).status.code).toBe(grpc.status.CANCELLED)
	}
	expect(state()).toBe('closed')
	server.play(fail(14))
	for (let n = 0; n < 2; n++) await client.invoke('Get', {}).done
	expect(state()).toBe('open')
})

describe('events', () => {
	test('carry the service, the method and the name of the status; NOT_FOUND is a success of the server', async () => {
		const { client, events } = useClient({ serviceConfig: retries(2), name: 'users' })
		server.play([fail(14), fail(5)])
		await client.invoke('List', {}).done
		const common = { grpcService: SERVICE, method: 'List', callId: expect.any(String) }
		for (const event of events) expect(event).toMatchObject(common)
		expect(events.map(({ type, grpcStatus }) => [type, grpcStatus])).toEqual([
			['retry_attempt', 'UNAVAILABLE'],
			['retry_failure', 'NOT_FOUND'],
			['success', 'NOT_FOUND'],
			['call', 'NOT_FOUND'],
		])
		expect(new Set(events.map(({ callId }) => callId)).size).toBe(1)
	})

	test('say that a message above the buffer has committed the call', async () => {
		const { client, events, interceptor } = useClient({
			serviceConfig: retries(),
			maxBufferBytesPerCall: 1_000,
		})
		server.play(fail(14))
		const { error } = await client.invoke('Get', { data: new Uint8Array(2_000) }).done
		expect(error).toMatchObject({ code: 14 })
		expect(server.calls).toHaveLength(1)
		expect(explain(error)?.stop).toBe('committed')
		expect(events.at(-1)).toMatchObject({ type: 'call', stop: 'committed', grpcCommittedBy: 'buffer' })
		expect(interceptor.stats.bufferedBytes).toBe(0)
	})

	test('do not name the buffer if no message was above it', async () => {
		const { client, events } = useClient({ serviceConfig: retries(2) })
		server.play(fail(3))
		await client.invoke('Get', {}).done
		expect(events.at(-1)).not.toHaveProperty('grpcCommittedBy')
	})
})

test('calls together may keep 16 MiB for retries: one that no longer fits is sent and not retried', async () => {
	const { client, interceptor, events } = useClient({ serviceConfig: retries(2) })
	server.play(hang())
	const data = new Uint8Array(1_000_000)
	const held = Array.from({ length: 16 }, () => client.invoke('Get', { data }))
	await server.called(16)
	expect(interceptor.stats.bufferedBytes).toBeGreaterThan(16_000_000)
	server.play(fail(14))
	const { error } = await client.invoke('Get', { data }).done
	expect(error?.code).toBe(14)
	expect(server.calls).toHaveLength(1)
	expect(events.at(-1)).toMatchObject({ type: 'call', grpcCommittedBy: 'buffer' })
	for (const call of held) call.cancel()
	await Promise.all(held.map(({ done }) => done))
	expect(interceptor.stats.bufferedBytes).toBe(0)
	server.play([fail(14), reply({ text: 'a' })])
	expect(await client.get({ data })).toMatchObject({ text: 'a' })
})

describe('lint', () => {
	const fixes = (options: GrpcClientOptions) =>
		lint(resilientInterceptor(grpc, options)).findings.map(({ code, fix }) => [code, fix])

	test('finds nothing wrong with a config that has a timeout and no retries', () => {
		const serviceConfig = parseServiceConfig({ methodConfig: [{ name: [{}], timeout: '1s' }] })
		expect(fixes({ serviceConfig })).toEqual([])
	})

	test('reports a queue that outlasts the timeout only if the user chose its queueTimeoutMs', () => {
		const serviceConfig = parseServiceConfig({ methodConfig: [{ name: [{}], timeout: '1s' }] })
		expect(fixes({ serviceConfig, bulkhead: true })).toEqual([])
		expect(fixes({ serviceConfig, bulkhead: { maxConcurrent: 5 } })).toEqual([])
		expect(fixes({ serviceConfig, bulkhead: { queueTimeoutMs: 1_000 } })).toEqual([
			['wait-outlasts-timeout', 'Set queueTimeoutMs of the bulkhead below the timeout of the method config.'],
		])
	})

	test('names the options of the service config', () => {
		expect(fixes({ serviceConfig: retries() })).toEqual([
			['no-timeout', 'Set timeout in the method config, or a deadline for each call.'],
		])
		expect(fixes({ serviceConfig: retries(3, { timeout: '10s' }) })).toEqual([
			['no-attempt-timeout', expect.stringContaining('hedgingPolicy')],
		])
	})

	test('computes the attempts and the worst case of the method with the most attempts', () => {
		const serviceConfig = parseServiceConfig({
			methodConfig: [
				{ name: [{ service: 'a.A' }], timeout: '1s' },
				{
					name: [{}],
					timeout: '5s',
					retryPolicy: {
						maxAttempts: 4,
						initialBackoff: '0.1s',
						maxBackoff: '1s',
						backoffMultiplier: 2,
						retryableStatusCodes: ['UNAVAILABLE'],
					},
				},
			],
		})
		const report = lint(resilientInterceptor(grpc, { serviceConfig, name: 'users' }))
		expect(report).toMatchObject({ name: 'users', maxAttempts: 4, worstMs: 5_000 })
	})
})

test('observe counts the calls and retries of the interceptor until it ends', async () => {
	const { client, interceptor } = useClient({ serviceConfig: retries(3), name: 'users' })
	const metrics = inMemoryMetrics()
	const end = observe({ users: interceptor }, [metrics])
	server.play([fail(14), reply({ text: 'a' })])
	await client.get({})
	end()
	await client.get({})
	expect(metrics.snapshot().services['users']).toMatchObject({ calls: 1, retriedCalls: 1, retries: 1 })
})
