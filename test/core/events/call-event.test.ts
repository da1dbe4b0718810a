import { beforeEach, describe, expect, it } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	Deadline,
	fallback,
	HttpError,
	hedge,
	keyed,
	type Policy,
	pipeline,
	rateLimiter,
	retry,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { skipDelays, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { CallEvent } from '../../../src/core/events/events.ts'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
let events: YaokiEvent[]
beforeEach(() => {
	clock = virtualRuntime({ startAt: 1_000_000 })
	events = []
})

/** A pipeline with a listener. */
const watched = (...policies: readonly Policy<unknown>[]) => {
	const policy = pipeline({ name: 'users', runtime: clock }, ...policies)
	policy.subscribe((event) => events.push(event))
	return policy
}
const calls = (): CallEvent[] => events.filter((event) => event.type === 'call')
const taking = (ms: number) => (): Promise<string> =>
	new Promise((resolve) => clock.setTimer(ms, () => resolve('ok')))
const never = () => new Promise<never>(() => {})

describe('the call event', () => {
	it('is the last event of a call and has its outcome, attempts, duration and waits', async () => {
		const policy = watched(retry(steady), bulkhead())
		await settled(
			clock,
			policy.execute(failing(clock, new HttpError(500)), { name: 'load', key: 'tenant-7' }),
		)
		expect(events.map(({ type }) => type)).toEqual(['retry_attempt', 'retry_success', 'call'])
		expect(events.at(-1)).toEqual({
			type: 'call',
			emitter: 'users',
			pipeline: 'users',
			call: 'load',
			key: 'tenant-7',
			callId: 'call-1',
			attempt: 2,
			timestamp: 1_000_100,
			outcome: 'success',
			attempts: 2,
			durationMs: 100,
			queuedMs: 0,
			backoffMs: 100,
			stop: 'success',
		})
		expect(JSON.parse(JSON.stringify(events.at(-1)))).toEqual(events.at(-1))
	})

	it('has the error and the reason for the stop if the call failed', async () => {
		const policy = watched(retry(steady))
		await settled(clock, policy.execute(dead(clock, new HttpError(503))))
		expect(calls()).toMatchObject([
			{ outcome: 'failure', attempts: 4, stop: 'retries-exhausted', errorType: 'HttpError', statusCode: 503 },
		])
	})

	it('the call event of a call that was rejected has no attempts', async () => {
		const breaker = circuitBreaker()
		breaker.isolate()
		for (const policy of [watched(breaker), watched(retry(), breaker)]) await policy.settle(() => 1)
		expect(calls()).toMatchObject([
			{ outcome: 'rejected', attempts: 0, durationMs: 0, stop: 'rejected', errorCode: 'YAOKI_CIRCUIT_OPEN' },
			{ outcome: 'rejected', attempts: 0, errorCode: 'YAOKI_CIRCUIT_OPEN' },
		])
	})

	it('separates the time in queues and for rate limits from that in backoff', async () => {
		const policy = watched(
			bulkhead({ maxConcurrent: 1 }),
			retry(steady),
			rateLimiter({ limit: 1, intervalMs: 70, maxWaitMs: 1_000 }),
		)
		const first = policy.execute(taking(500))
		const second = policy.execute(failing(clock, new Error('down')))
		await settled(clock, Promise.all([first, second]))
		// 500 ms for the slot, 100 ms before the retry.
		expect(calls()).toMatchObject([
			{ durationMs: 500, queuedMs: 0, backoffMs: 0 },
			{ durationMs: 600, queuedMs: 500, backoffMs: 100, attempts: 2 },
		])
		// The limiter lets a call pass every 70 ms, and the last one was just now.
		events.length = 0
		const [third, fourth] = [policy.execute(() => 1), policy.execute(() => 1)]
		await settled(clock, Promise.all([third, fourth]))
		expect(calls().map(({ queuedMs, durationMs }) => [queuedMs, durationMs])).toEqual([
			[70, 70],
			[140, 140],
		])
	})

	it('counts the time in a queue that rejected the call in the end', async () => {
		const policy = watched(bulkhead({ maxConcurrent: 1, queueTimeoutMs: 40 }))
		void policy.execute(never)
		await settled(
			clock,
			policy.execute(() => 1),
		)
		expect(calls()).toMatchObject([{ outcome: 'rejected', attempts: 0, queuedMs: 40, durationMs: 40 }])
	})

	it('says that a fallback replaced the failure', async () => {
		const policy = watched(fallback('none'), retry({ ...steady, maxRetries: 0 }))
		await policy.execute(dead(clock))
		expect(calls()).toMatchObject([{ outcome: 'fallback', attempts: 1, stop: 'fallback' }])
	})

	it('is emitted once for a call that a timeout ended, although its operation goes on', async () => {
		const policy = watched(timeout(30))
		await settled(clock, policy.execute(taking(100)))
		expect(calls()).toMatchObject([{ outcome: 'failure', stop: 'timeout', attempts: 1, durationMs: 30 }])
	})

	it('is emitted once for a hedged call, and counts the hedges as attempts', async () => {
		const policy = watched(hedge({ delayMs: 10 }))
		await settled(clock, policy.execute(taking(50)))
		expect(calls()).toMatchObject([{ outcome: 'success', attempts: 2, durationMs: 50, queuedMs: 0 }])
	})

	it('is emitted for a call that the caller aborts in a wait', async () => {
		const policy = watched(retry(steady))
		const controller = new AbortController()
		const result = policy.settle(dead(clock), { signal: controller.signal })
		await clock.advance(60)
		controller.abort()
		await result
		expect(calls()).toMatchObject([
			{ outcome: 'failure', stop: 'abort', attempts: 1, backoffMs: 60, durationMs: 60 },
		])
	})

	it('is emitted for a call whose deadline has expired before it began', async () => {
		const policy = watched(retry())
		await policy.settle(() => 1, { deadline: Deadline.after(0, { runtime: clock }) })
		expect(calls()).toMatchObject([{ outcome: 'failure', stop: 'deadline', attempts: 0 }])
	})

	it('has the duration also after many calls without a listener', async () => {
		const policy = pipeline({ runtime: clock }, retry())
		for (let i = 0; i < 200; i++) await policy.execute(() => 1)
		policy.subscribe((event) => events.push(event))
		await settled(clock, policy.execute(taking(25)))
		expect(calls()).toMatchObject([{ durationMs: 25, emitter: 'pipeline' }])
	})

	it('is emitted by the policy that was called, not by the policies inside it', async () => {
		const inner = retry({ runtime: clock })
		inner.subscribe((event) => events.push(event))
		await pipeline({ runtime: clock }, inner).execute(() => 1)
		expect(calls()).toEqual([])
		await inner.execute(() => 1)
		expect(calls()).toMatchObject([{ emitter: 'retry' }])
		expect(calls()[0]).not.toHaveProperty('pipeline')
	})

	it.each<[string, (policy: Policy) => Policy]>([
		[
			'keyed',
			(policy) =>
				keyed(
					() => 'a',
					() => policy,
					{ runtime: clock },
				),
		],
		['skipDelays', (policy) => skipDelays(policy)],
	])('is emitted by %s', async (_, wrap) => {
		const policy = wrap(retry({ runtime: clock }))
		policy.subscribe((event) => events.push(event))
		await policy.execute(() => 1)
		expect(calls()).toMatchObject([{ outcome: 'success', attempts: 1 }])
	})

	it('is the same for a call of the callback runner', () => {
		const policy = watched(retry(steady))
		let attempts = 0
		clock.run(
			policy,
			(_, done) => done(attempts++ ? undefined : new Error('down')),
			() => {},
		)
		expect(calls()).toEqual([])
		return clock.runUntilIdle().then(() => {
			expect(calls()).toMatchObject([{ outcome: 'success', attempts: 2, durationMs: 100, backoffMs: 100 }])
		})
	})

	it('ends with the subscription', async () => {
		const policy = pipeline({ runtime: clock }, retry())
		const ends = [1, 2].map(() => policy.subscribe((event) => events.push(event)))
		await policy.execute(() => 1)
		expect(calls()).toHaveLength(2)
		ends[0]?.()
		ends[0]?.()
		await policy.execute(() => 1)
		expect(calls()).toHaveLength(3)
		ends[1]?.()
		await policy.execute(() => 1)
		expect(calls()).toHaveLength(3)
	})
})
