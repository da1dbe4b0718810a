import * as connect from '@connectrpc/connect'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { BulkheadRejectedError, CircuitOpenError, explain, InvalidArgumentError, lint, retry } from 'yaoki'
import { GrpcStatusError, resilientConnectInterceptor } from 'yaoki/grpc'
import { withAmbientContext } from 'yaoki/node'
import { hedging, retrying } from './configs.ts'
import { METHODS } from './connect-client.ts'
import { fail, hang, reply } from './connect-server.ts'
import { useClient, useServer } from './setup.ts'

const shared = useServer()

describe.each(METHODS)('%s', (method) => {
	test('an open circuit is Unavailable', async () => {
		const { server } = shared
		const { client, interceptor } = useClient(server, { circuitBreaker: { failureThreshold: 1 } })
		server.play(fail(Code.Unavailable))
		await client.invoke(method, {})
		const { error } = await client.invoke(method, {})
		expect(error).toBeInstanceOf(ConnectError)
		expect(error).toMatchObject({ code: Code.Unavailable })
		expect(error?.cause).toBeInstanceOf(CircuitOpenError)
		expect(explain(error)).toMatchObject({ stop: 'rejected', errorType: 'CircuitOpenError' })
		expect(server.calls).toHaveLength(1)
		expect(interceptor.stats).toMatchObject({ calls: 2, failures: 2, attempts: 1 })
	})

	test('a full bulkhead is ResourceExhausted', async () => {
		const { server } = shared
		const { client } = useClient(server, { bulkhead: { maxConcurrent: 1, maxQueue: 0 } })
		server.play(hang())
		const controller = new AbortController()
		const running = client.invoke(method, {}, { signal: controller.signal })
		const { error } = await client.invoke(method, {})
		expect(error).toMatchObject({ code: Code.ResourceExhausted })
		expect(error?.cause).toBeInstanceOf(BulkheadRejectedError)
		expect(explain(error)).toMatchObject({ stop: 'rejected', errorType: 'BulkheadRejectedError' })
		controller.abort()
		await running
		expect(server.calls.length).toBeLessThanOrEqual(1)
	})
})

test('the breaker rejects no other service if circuitBreakerKey says so', async () => {
	const { server } = shared
	const { client, interceptor } = useClient(server, {
		circuitBreaker: { failureThreshold: 1 },
		circuitBreakerKey: ({ method }) => method,
	})
	server.play([fail(Code.Unavailable), reply({})])
	await client.invoke('Get', {})
	expect((await client.invoke('List', {})).error).toBeUndefined()
	expect(interceptor.stats.circuits).toMatchObject({ Get: { state: 'open' }, List: { state: 'closed' } })
})

describe('a hook that throws ends the call with Internal and its error as the cause', () => {
	const thrown = new RangeError('a hook of the user')
	const fails = () => {
		throw thrown
	}
	test.each([
		['getContext', { getContext: fails }, 0],
		['circuitBreakerKey', { circuitBreakerKey: fails }, 0],
		['classify', { classify: fails }, 1],
		['isFailure', { circuitBreaker: { isFailure: fails } }, 1],
	])('%s', async (_, options, attempts) => {
		const { server } = shared
		const { client, interceptor, events } = useClient(server, { serviceConfig: retrying(), ...options })
		server.play(fail(Code.ResourceExhausted))
		const { error } = await client.invoke('Get', {})
		expect(error).toMatchObject({ code: Code.Internal, cause: thrown })
		expect(explain(error)).toMatchObject({ stop: 'hook-threw' })
		expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1, attempts, bufferedBytes: 0 })
		expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'INTERNAL' })
	})
})

describe('nested retries do not multiply', () => {
	test.each([
		['retries', retrying({ maxAttempts: 3 })],
		['hedging', hedging({ maxAttempts: 3 })],
	])('%s', async (_, serviceConfig) => {
		const { server } = shared
		const { client } = useClient(server, { serviceConfig, circuitBreaker: false })
		server.play(fail(Code.Unavailable))
		const outer = withAmbientContext(retry({ maxRetries: 2, baseDelayMs: 0 }))
		await expect(outer.execute(() => client.users.get({}))).rejects.toMatchObject({ code: Code.Unavailable })
		expect(server.calls).toHaveLength(3)
	})
})

test.each(['retry_attempt', 'failure'])(
	'a listener that cancels the call at %s ends it once',
	async (type) => {
		const { server } = shared
		const controller = new AbortController()
		const { client, interceptor, events } = useClient(server, {
			serviceConfig: retrying(),
			onEvent: (event) => {
				if (event.type === type) controller.abort()
			},
		})
		server.play(fail(Code.Unavailable))
		const { error } = await client.invoke('Get', {}, { signal: controller.signal })
		expect(error?.code).toBe(Code.Canceled)
		expect(interceptor.stats).toMatchObject({ calls: 1, failures: 1 })
		expect(events.filter((event) => event.type === 'call')).toHaveLength(1)
	},
)

test('isFailure and onRetry receive the status', async () => {
	const { server } = shared
	const seen: unknown[] = []
	const { client } = useClient(server, {
		serviceConfig: retrying(),
		onRetry: (error, attempt, delayMs) => void seen.push([error.statusName, attempt, delayMs]),
		circuitBreaker: { isFailure: (error) => seen.push(error instanceof GrpcStatusError && error.code) > 0 },
	})
	server.play([fail(Code.Unavailable, { pushback: '1' }), fail(Code.NotFound)])
	await client.invoke('Get', {})
	expect(seen).toEqual([['UNAVAILABLE', 1, 1], 5])
})

test('events carry the service, the method and the status', async () => {
	const { server } = shared
	const { client, events } = useClient(server, { name: 'users', serviceConfig: retrying() })
	server.play([fail(Code.Unavailable), reply({})])
	await client.invoke('List', {})
	const grpcService = 'yaoki.test.Users'
	expect(events.map(({ type }) => type)).toContain('retry_attempt')
	for (const event of events)
		expect(event).toMatchObject({ grpcService, method: 'List', call: `/${grpcService}/List` })
	expect(events.find(({ type }) => type === 'retry_attempt')).toMatchObject({ grpcStatus: 'UNAVAILABLE' })
	expect(events.at(-1)).toMatchObject({
		type: 'call',
		emitter: 'users',
		outcome: 'success',
		grpcStatus: 'OK',
	})
})

test('lint reads the interceptor', () => {
	const interceptor = resilientConnectInterceptor(connect, {
		serviceConfig: retrying({ maxAttempts: 5, codes: ['UNAVAILABLE', 'INVALID_ARGUMENT'] }),
	})
	expect(lint(interceptor)).toMatchObject({ name: 'grpc', maxAttempts: 5 })
})

test('options are validated', () => {
	expect(() => resilientConnectInterceptor(connect, { bulkhed: {} } as never)).toThrow(
		/Unknown option "bulkhed" for resilientConnectInterceptor. Did you mean "bulkhead"/,
	)
	expect(() => resilientConnectInterceptor({} as never)).toThrow(InvalidArgumentError)
	expect(() => resilientConnectInterceptor(undefined as never)).toThrow(/import \* as connect/)
})
