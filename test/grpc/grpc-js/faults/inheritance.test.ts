/** What a call inherits from the call or request around: deadline, signal, and who retries. */
import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { Deadline, retry } from 'yaoki'
import { runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { hedging, retries } from '../../support/configs.ts'
import { type FakeCaller, FakeClient } from '../../support/fake-caller.ts'

/** Resolves with the error of a call, as the promise of a generated client does. */
async function failureOf(call: FakeCaller, { clock }: FakeClient, code: number): Promise<never> {
	for (let number = 1; !call.status; number++) {
		call.attempts[number - 1]?.end(code)
		await clock.advance(1_000)
	}
	throw call.error
}

describe('nested retries', () => {
	test.each([
		['retries', () => ({ serviceConfig: retries(3) }), 14, 3],
		['hedging', () => ({ serviceConfig: hedging(3) }), 14, 3],
	])('do not multiply: %s', async (_, options, code, attempts) => {
		const client = new FakeClient({ ...options(), circuitBreaker: false })
		const outer = withAmbientContext(retry({ maxRetries: 2, baseDelayMs: 0, runtime: virtualRuntime() }))
		const calls: FakeCaller[] = []
		const result = outer.execute(() => {
			const call = client.start()
			calls.push(call)
			return failureOf(call, client, code)
		})
		await expect(result).rejects.toMatchObject({ code })
		expect(calls.map((call) => call.attempts.length)).toEqual([attempts])
	})

	test('the outer policy retries what the service config does not', async () => {
		const client = new FakeClient({ serviceConfig: retries(3), circuitBreaker: false })
		const clock = virtualRuntime()
		const outer = withAmbientContext(retry({ maxRetries: 2, baseDelayMs: 1, runtime: clock }))
		const calls: FakeCaller[] = []
		const result = outer.execute(() => {
			const call = client.start()
			calls.push(call)
			return failureOf(call, client, 13)
		})
		const rejected = expect(result).rejects.toMatchObject({ code: 13 })
		while (calls.length < 3) await clock.advance(10)
		await rejected
		expect(calls.map((call) => call.attempts.length)).toEqual([1, 1, 1])
	})
})

describe('the deadline of the calling request', () => {
	const start = (client: FakeClient, ms: number, options = {}) =>
		runWithContext({ deadline: Deadline.after(ms, { runtime: client.clock }) }, () => client.start(options))

	test('applies if it is earlier than that of the call', async () => {
		const client = new FakeClient({ serviceConfig: retries(3, { timeout: '10s' }) })
		const call = start(client, 500, { deadline: client.clock.wallNow() + 5_000 })
		expect(call.attempt(1).options.deadline).toBe(client.clock.wallNow() + 500)
		await client.clock.runUntilIdle()
		expect(client.clock.now()).toBe(500)
		expect(call.events).toEqual(['status 4'])
		expect(call.status?.cause).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
	})

	test('does not count for the breaker; that of the call itself does', async () => {
		const breaker = { circuitBreaker: { failureThreshold: 1 }, countedDeadlineMs: 500 }
		const inherited = new FakeClient(breaker)
		start(inherited, 500)
		await inherited.clock.runUntilIdle()
		expect(inherited.interceptor.stats.circuits['']?.state).toBe('closed')
		const own = new FakeClient(breaker)
		start(own, 5_000, { deadline: own.clock.wallNow() + 500 })
		await own.clock.runUntilIdle()
		expect(own.interceptor.stats.circuits['']?.state).toBe('open')
	})

	test('does not count if grpc-js reports it a little early', async () => {
		const client = new FakeClient({ circuitBreaker: { failureThreshold: 1 } })
		const call = start(client, 500)
		await client.clock.advance(499)
		call.attempt(1).end(4)
		await client.clock.runUntilIdle()
		expect(client.interceptor.stats.circuits['']?.state).toBe('closed')
	})

	test('has passed: nothing is started', async () => {
		const client = new FakeClient()
		const call = start(client, 0)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 4'])
		expect(call.attempts).toEqual([])
		expect(call.status?.cause).toMatchObject({ code: 'YAOKI_DEADLINE_EXCEEDED' })
	})

	test('passes in the bulkhead queue', async () => {
		const client = new FakeClient({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		client.start()
		const call = start(client, 500)
		await client.clock.advance(500)
		expect(call.events).toEqual(['status 4'])
		expect(call.attempts).toEqual([])
		expect(client.interceptor.stats.bulkhead).toMatchObject({ concurrent: 1, queued: 0 })
	})
})

describe('the deadline of a call', () => {
	test.each([
		['null is none', null, Infinity],
		['a Date', 1_000, 1_000],
		['the timeout of the method, if that is earlier', 60_000, 30_000],
	])('%s', async (_, ms, expected) => {
		const serviceConfig = ms === 60_000 ? retries(3, { timeout: '30s' }) : retries(3)
		const client = new FakeClient({ serviceConfig })
		const deadline = ms === null ? null : new Date(client.clock.wallNow() + ms)
		const call = client.start({ deadline })
		const given = call.attempt(1).options.deadline
		expect(Number(given ?? Infinity) - client.clock.wallNow()).toBe(expected)
		call.attempt(1).end(0)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 0'])
	})

	test.each([-1, -1e15, -Infinity])('starts nothing if it is in the past (%s ms)', async (ms) => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const call = client.start({ deadline: client.clock.wallNow() + ms })
		call.send('a')
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 4'])
		expect(call.attempts).toEqual([])
		expect(client.interceptor.stats.bufferedBytes).toBe(0)
	})

	test('is not moved by a jump of the wall clock between two attempts', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const call = client.start({ deadline: client.clock.wallNow() + 1_000 })
		call.attempt(1).end(14, { pushback: '100' })
		client.clock.jumpWallClock(-3_600_000)
		await client.clock.advance(100)
		expect(call.attempt(2).options.deadline).toBe(client.clock.wallNow() + 900)
		await client.clock.runUntilIdle()
		expect(client.clock.now()).toBe(1_000)
		expect(call.events).toEqual(['status 4'])
	})

	test('ends the call instead of a wait that would be longer', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const call = client.start({ deadline: client.clock.wallNow() + 1_000 })
		call.attempt(1).end(14, { pushback: '1000' })
		await client.clock.advance(0)
		expect(call.events).toEqual(['status 14'])
	})
})

test.each(['OK', 'failure', 'cancellation', 'rejection'])(
	'no listener is left on the signal: %s',
	async (end) => {
		const { signal } = new AbortController()
		const client = new FakeClient({
			serviceConfig: retries(3),
			bulkhead: { maxConcurrent: 1, maxQueue: 0 },
			getContext: () => ({ signal }),
		})
		const blocking = end === 'rejection' ? client.start() : undefined
		const call = client.start()
		if (end === 'OK') call.attempt(1).end(0)
		if (end === 'failure') call.attempt(1).end(3)
		if (end === 'cancellation') {
			call.attempt(1).end(14)
			await client.clock.advance(1)
			call.cancel()
		}
		await client.clock.advance(0)
		expect(call.statuses).toHaveLength(1)
		blocking?.attempt(1).end(0)
		await client.clock.runUntilIdle()
		expect(getEventListeners(signal, 'abort')).toEqual([])
	},
)
