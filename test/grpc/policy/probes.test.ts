/** Streams as probes of a half-open circuit (regression: a healthy stream that outlived `probeTimeoutMs` opened the circuit again). */
import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import type { YaokiEvent } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { eventuallyTrue } from '../../support/eventually.ts'
import { fail, sendThenHang } from '../connect/connect-server.ts'
import { useClient, useServer } from '../connect/setup.ts'
import { hedging, retries } from '../support/configs.ts'
import { FakeClient } from '../support/fake-caller.ts'

const circuitBreaker = {
	failureThreshold: 1,
	successThreshold: 1,
	halfOpenMaxConcurrent: 1,
	resetTimeoutMs: 1_000,
	probeTimeoutMs: 5_000,
} as const

describe.each([
	['no policy', undefined],
	['retries', retries()],
	['hedging', hedging()],
])('a probe of grpc-js with %s', (_, serviceConfig) => {
	/** A client whose circuit admits the next call as a probe. */
	async function useHalfOpen() {
		const client = new FakeClient({ circuitBreaker, serviceConfig })
		const { clock, interceptor } = client
		client.start({ onAttempt: (attempt) => queueMicrotask(() => attempt.end(13)) })
		await clock.runUntilIdle()
		const state = () => interceptor.stats.circuits['']?.state
		expect(state()).toBe('open')
		await clock.advance(2_000)
		return { client, clock, interceptor, state }
	}

	test.each([
		['headers', { responseStream: true, requestStream: false }],
		['headers', { responseStream: false, requestStream: true }],
		['a message', { responseStream: true, requestStream: true }],
	] as const)('closes the circuit with %s of a stream: %o', async (what, kind) => {
		const { client, clock, interceptor, state } = await useHalfOpen()
		const changes: YaokiEvent[] = []
		interceptor.subscribe((event) => {
			if (event.type === 'state_change') changes.push(event)
		})
		const probe = client.start(kind)
		expect(state()).toBe('half-open')
		if (what === 'headers') probe.attempt(1).sendHeaders()
		else probe.attempt(1).sendResponse('a')
		expect(state()).toBe('closed')
		await clock.advance(60_000)
		expect(state()).toBe('closed')
		expect(changes.at(-1)).toMatchObject({ to: 'closed', method: 'Chat' })
		probe.attempt(1).end(0)
		await clock.runUntilIdle()
		expect(state()).toBe('closed')
	})

	test('is judged as hung without headers and messages', async () => {
		const { client, clock, state } = await useHalfOpen()
		const probe = client.start()
		await clock.advance(5_000)
		expect(state()).toBe('open')
		probe.cancel()
		await clock.runUntilIdle()
	})

	test('counts when it has ended if it is no stream', async () => {
		const { client, clock, state } = await useHalfOpen()
		const probe = client.start({ requestStream: false, responseStream: false })
		probe.attempt(1).sendHeaders()
		expect(state()).toBe('half-open')
		probe.attempt(1).end(13)
		await clock.runUntilIdle()
		expect(state()).toBe('open')
	})
})

describe('a probe of Connect', () => {
	const shared = useServer()

	async function useHalfOpen(clock: VirtualRuntime) {
		const { server } = shared
		const client = useClient(server, { circuitBreaker, runtime: clock })
		server.play([fail(Code.Internal), sendThenHang([{ text: 'a' }])])
		await client.client.invoke('Get', {})
		await clock.advance(2_000)
		return { ...client, state: () => client.interceptor.stats.circuits['']?.state }
	}

	test('closes the circuit with the first message of a stream', async () => {
		const clock = virtualRuntime({ seed: 1 })
		const { client, state } = await useHalfOpen(clock)
		const controller = new AbortController()
		let received = 0
		const done = client.invoke('List', {}, { signal: controller.signal, onItem: () => received++ })
		await eventuallyTrue(() => received === 1)
		expect(state()).toBe('closed')
		await clock.advance(60_000)
		expect(state()).toBe('closed')
		controller.abort()
		await done
	})
})
