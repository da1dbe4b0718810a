/** Which deadlines count for the circuit (regression: a caller with a deadline of 20 ms opened it for all others). */
import { describe, expect, test } from 'vitest'
import { type GrpcClientOptions, parseServiceConfig } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import { hang } from '../connect/connect-server.ts'
import { useClient, useServer } from '../connect/setup.ts'
import { hedging } from '../support/configs.ts'
import { FakeClient } from '../support/fake-caller.ts'

const shared = useServer()
const circuitBreaker = { failureThreshold: 1 }

/** Calls a server that hangs, and returns the state of the circuit. */
type CallHanging = (options: GrpcClientOptions, deadlineMs?: number) => Promise<string | undefined>

const grpcJs: CallHanging = async (options, deadlineMs) => {
	const { clock, interceptor, start } = useFake(options)
	start(deadlineMs)
	await clock.runUntilIdle()
	expect(interceptor.stats.failures).toBe(1)
	return interceptor.stats.circuits['']?.state
}

function useFake(options: GrpcClientOptions) {
	const client = new FakeClient({ circuitBreaker, ...options })
	const { clock, interceptor } = client
	const start = (ms: number | undefined) =>
		client.start(ms === undefined ? {} : { deadline: clock.wallNow() + ms })
	return { clock, interceptor, start }
}

const connect: CallHanging = async (options, deadlineMs) => {
	const { server } = shared
	const clock = virtualRuntime({ seed: 1 })
	const { client, interceptor } = useClient(server, { circuitBreaker, runtime: clock, ...options })
	server.play(hang())
	const done = client.invoke('Get', {}, deadlineMs === undefined ? {} : { timeoutMs: deadlineMs })
	// Connect has a timer of its own, which on a busy machine fires before the server is called.
	await Promise.race([server.called(1), done])
	await clock.advance(10_000)
	expect((await done).error).toMatchObject({ code: 4 })
	return interceptor.stats.circuits['']?.state
}

const timeout = (text: string) => parseServiceConfig({ methodConfig: [{ name: [{}], timeout: text }] })

describe.each([
	['grpc-js', grpcJs],
	['Connect', connect],
])('a deadline that passes with %s', (_, callHanging) => {
	test.each<[string, GrpcClientOptions, number | undefined, string]>([
		['of 1 s counts', {}, 1_000, 'open'],
		['below 1 s does not count', {}, 500, 'closed'],
		['counts from countedDeadlineMs on', { countedDeadlineMs: 200 }, 200, 'open'],
		['does not count below countedDeadlineMs', { countedDeadlineMs: 2_000 }, 1_000, 'closed'],
		['of the service config counts', { serviceConfig: timeout('0.3s') }, undefined, 'open'],
		['counts if it is that of the service config', { serviceConfig: timeout('0.3s') }, 300, 'open'],
		[
			'does not count below the timeout of the service config',
			{ serviceConfig: timeout('3s') },
			1_500,
			'closed',
		],
	])('%s', async (_name, options, deadlineMs, state) => {
		expect(await callHanging(options, deadlineMs)).toBe(state)
	})
})

test('a deadline that passes during hedged requests follows the same rule', async () => {
	expect(await grpcJs({ serviceConfig: hedging() }, 500)).toBe('closed')
	expect(await grpcJs({ serviceConfig: hedging() }, 1_000)).toBe('open')
})

test('a deadline that is too short frees the slot of a probe and decides nothing', async () => {
	const { clock, interceptor, start } = useFake({
		circuitBreaker: { failureThreshold: 1, halfOpenMaxConcurrent: 1, resetTimeoutMs: 1_000 },
	})
	start(1_000)
	await clock.advance(4_000)
	start(10)
	await clock.advance(100)
	expect(interceptor.stats.circuits['']?.state).toBe('half-open')
	start(1_000)
	await clock.advance(1_000)
	expect(interceptor.stats.circuits['']?.state).toBe('open')
})
