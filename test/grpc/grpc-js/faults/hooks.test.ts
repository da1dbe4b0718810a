/** Functions of the user that throw, and callbacks that cancel in the wrong moment. */
import { describe, expect, test, vi } from 'vitest'
import { explain } from 'yaoki'
import { GrpcStatusError } from 'yaoki/grpc'
import { hedging, retries } from '../../support/configs.ts'
import { FakeClient } from '../../support/fake-caller.ts'

const thrown = new RangeError('a hook of the user')
const fails = () => {
	throw thrown
}

describe('a hook that throws ends the call with INTERNAL and the error as cause', () => {
	test.each([
		['getContext', { getContext: fails }, 0],
		['circuitBreakerKey', { circuitBreakerKey: fails }, 0],
		['classify', { classify: fails }, 1],
		['isFailure', { circuitBreaker: { isFailure: fails } }, 1],
	])('%s', async (_, options, attempts) => {
		const client = new FakeClient({ serviceConfig: retries(3), ...options })
		const events = vi.fn()
		client.interceptor.subscribe(events)
		const call = client.start()
		call.send('a')
		call.attempts[0]?.end(8)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 13'])
		expect(call.status).toMatchObject({ details: 'a hook of the user', cause: thrown })
		expect(call.attempts).toHaveLength(attempts)
		expect(explain(call.error)?.stop).toBe('hook-threw')
		expect(client.interceptor.stats).toMatchObject({ calls: 1, failures: 1, attempts, bufferedBytes: 0 })
		expect(events.mock.calls.flat().filter(({ type }) => type === 'call')).toMatchObject([
			{ grpcStatus: 'INTERNAL', attempts, stop: 'hook-threw' },
		])
	})

	test('classify, of a hedged call', async () => {
		const client = new FakeClient({ serviceConfig: hedging(3), classify: fails })
		const call = client.start()
		await client.clock.advance(100)
		call.attempt(2).end(14)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 13'])
		expect(call.attempt(1).cancels).toBe(1)
	})
})

test.each([['onRetry'], ['onEvent']])('%s that throws is a warning', async (name) => {
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	const client = new FakeClient({ serviceConfig: retries(3), [name]: fails })
	const call = client.start()
	call.attempt(1).end(14)
	await client.clock.advance(200)
	call.attempt(2).end(0)
	await client.clock.runUntilIdle()
	expect(call.events).toEqual(['status 0'])
	expect(warn).toHaveBeenCalled()
})

test('classify and isFailure receive the status, and decide what the breaker counts', async () => {
	const seen: unknown[] = []
	const client = new FakeClient({
		circuitBreaker: {
			failureThreshold: 1,
			isFailure: (error) => {
				seen.push(error)
				return error instanceof GrpcStatusError && error.code === 5
			},
		},
	})
	for (const code of [14, 5]) {
		const call = client.start()
		call.attempt(1).end(code)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual([`status ${code}`])
	}
	expect(seen).toMatchObject([{ statusName: 'UNAVAILABLE' }, { statusName: 'NOT_FOUND' }])
	expect(client.interceptor.stats.circuits['']?.state).toBe('open')
})

describe('a listener of events that cancels the call', () => {
	test('ends it with one status, and nothing is sent, while it begins', async () => {
		const client = new FakeClient({
			serviceConfig: retries(3),
			circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 10 },
		})
		const calls: string[] = []
		const failed = client.start()
		failed.attempt(1).end(13)
		await client.clock.advance(10)
		const call = client.create()
		client.interceptor.subscribe((event) => {
			if (event.type === 'state_change') call.cancel()
			if (event.type === 'call') calls.push(event.outcome)
		})
		call.start()
		call.send('a')
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 1'])
		expect(call.attempts).toHaveLength(0)
		expect(calls).toEqual(['failure'])
		expect(call.violations).toEqual([])
	})

	test('prevents a retry that is scheduled', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const call = client.create()
		const calls: string[] = []
		client.interceptor.subscribe((event) => {
			if (event.type === 'retry_attempt') call.cancel()
			if (event.type === 'call') calls.push(event.outcome)
		})
		call.start()
		call.attempt(1).end(14)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 1'])
		expect(call.attempts).toHaveLength(1)
		expect(calls).toEqual(['failure'])
	})

	test.each([retries(3), hedging(3)])(
		'while an attempt is created: it is not started',
		async (serviceConfig) => {
			const client = new FakeClient({ serviceConfig })
			const call = client.create({ onAttempt: () => call.cancel() })
			call.start()
			call.send('a')
			await client.clock.runUntilIdle()
			expect(call.events).toEqual(['status 1'])
			expect(call.attempts).toMatchObject([{ isStarted: false }])
		},
	)

	test('prevents the start of a later attempt that is being created', async () => {
		const client = new FakeClient({ serviceConfig: retries(3) })
		const call = client.create({ onAttempt: (_, number) => number === 2 && call.cancel() })
		call.start()
		call.attempt(1).end(14)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 1'])
		expect(call.attempts).toMatchObject([{ isStarted: true }, { isStarted: false }])
	})
})

describe('a call that cannot be created', () => {
	const closed = new Error('Channel has been shut down')

	test.each([1, 2])('ends with INTERNAL and the error as cause at attempt %s', async (failing) => {
		const client = new FakeClient({ serviceConfig: retries(3), bulkhead: { maxConcurrent: 1 } })
		const call = client.start({
			onAttempt: (_, number) => {
				if (number === failing) throw closed
			},
		})
		call.send('a')
		call.attempts[0]?.end(14)
		await client.clock.runUntilIdle()
		expect(call.events).toEqual(['status 13'])
		expect(call.status?.cause).toBe(closed)
		expect(client.interceptor.stats).toMatchObject({ bufferedBytes: 0, bulkhead: { concurrent: 0 } })
	})

	test('ends each of many queued calls, without a deep stack', async () => {
		const count = 5_000
		const client = new FakeClient({ circuitBreaker: false, bulkhead: { maxConcurrent: 1, maxQueue: count } })
		const first = client.start()
		const calls = Array.from({ length: count }, () =>
			client.start({
				onAttempt: () => {
					throw closed
				},
			}),
		)
		first.attempt(1).end(0)
		await client.clock.runUntilIdle()
		expect(new Set(calls.flatMap(({ events }) => events))).toEqual(new Set(['status 13']))
		expect(client.interceptor.stats.bulkhead).toMatchObject({ concurrent: 0, queued: 0 })
	})
})

test('an error in the callback of one call does not reach the call that has freed its slot', async () => {
	const uncaught: unknown[] = []
	const listeners = process.listeners('uncaughtException')
	process.removeAllListeners('uncaughtException')
	process.on('uncaughtException', (error) => uncaught.push(error))
	try {
		const client = new FakeClient({ bulkhead: { maxConcurrent: 1, maxQueue: 1 } })
		const first = client.start()
		const queued = client.create({
			onAttempt: () => {
				throw new Error('closed')
			},
		})
		queued.call.start(queued.metadata, { onReceiveStatus: fails })
		first.attempt(1).end(0)
		await client.clock.runUntilIdle()
		expect(first.events).toEqual(['status 0'])
		expect(uncaught).toEqual([thrown])
	} finally {
		process.removeAllListeners('uncaughtException')
		for (const listener of listeners) process.on('uncaughtException', listener)
	}
})
