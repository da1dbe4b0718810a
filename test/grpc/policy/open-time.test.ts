/** How long the circuit of a gRPC client stays open, with both libraries (regression: 30 s by default). */
import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import type { GrpcClientOptions } from 'yaoki/grpc'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { fail } from '../connect/connect-server.ts'
import { useClient, useServer } from '../connect/setup.ts'
import { FakeClient } from '../support/fake-caller.ts'

const shared = useServer()

interface FailingClient {
	readonly clock: VirtualRuntime
	/** Makes a call that fails with UNAVAILABLE, or that the circuit rejects. */
	call(): Promise<unknown>
	/** For how long the circuit is still open, if it is. */
	openMs(): number | undefined
}

function grpcJs(options: GrpcClientOptions): FailingClient {
	const client = new FakeClient(options)
	return {
		clock: client.clock,
		async call() {
			client.start({ onAttempt: (attempt) => queueMicrotask(() => attempt.end(14)) })
			await client.clock.runUntilIdle()
		},
		openMs: () => client.interceptor.stats.circuits['']?.retryAfterMs,
	}
}

function connect(options: GrpcClientOptions): FailingClient {
	const clock = virtualRuntime({ seed: 1 })
	const { server } = shared
	const { client, interceptor } = useClient(server, { runtime: clock, ...options })
	server.play(fail(Code.Unavailable))
	return {
		clock,
		call: () => client.invoke('Get', {}),
		openMs: () => interceptor.stats.circuits['']?.retryAfterMs,
	}
}

/** Returns the first open times of the circuit. */
async function openTimes({ clock, call, openMs }: FailingClient, count: number): Promise<number[]> {
	const times: number[] = []
	while (times.length < count) {
		while (!openMs()) await call()
		const ms = openMs() ?? 0
		times.push(ms)
		await clock.advance(ms)
	}
	return times
}

describe.each([
	['grpc-js', grpcJs],
	['Connect', connect],
])('the circuit of a client with %s', (_, create) => {
	test('is open for about 1 s at first, and longer after each failed probe, up to 2 s', async () => {
		const times = await openTimes(create({}), 20)
		expect(times[0]).toBeGreaterThanOrEqual(500)
		expect(times[0]).toBeLessThanOrEqual(1_000)
		expect(Math.max(...times.slice(-5))).toBeGreaterThan(1_000)
		expect(Math.max(...times)).toBeLessThanOrEqual(2_000)
	})

	test('is open for exactly resetTimeoutMs with resetBackoff: false', async () => {
		const circuitBreaker = { resetBackoff: false, resetTimeoutMs: 7_000 } as const
		expect(await openTimes(create({ circuitBreaker }), 3)).toEqual([7_000, 7_000, 7_000])
	})

	test('is open for at most resetTimeoutMs', async () => {
		const times = await openTimes(create({ circuitBreaker: { resetTimeoutMs: 4_000 } }), 9)
		expect(Math.max(...times)).toBeGreaterThan(2_000)
		expect(Math.max(...times)).toBeLessThanOrEqual(4_000)
	})
})
