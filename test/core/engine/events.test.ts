import { beforeEach, describe, expect, it, vi } from 'vitest'
import { HttpError, pipeline, retry, type YaokiEvent } from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
let events: YaokiEvent[]
const listen = exceptCalls((event) => events.push(event))
beforeEach(() => {
	clock = virtualRuntime({ startAt: 1_000_000 })
	events = []
})

describe('events', () => {
	it('describe every retry and how the call ended', async () => {
		const policy = retry({ ...steady, runtime: clock, name: 'users' })
		policy.subscribe(listen)
		await settled(
			clock,
			policy.execute(failing(clock, new HttpError(500)), { name: 'load', key: 'tenant-7' }),
		)
		const shared = { emitter: 'users', call: 'load', key: 'tenant-7', callId: 'call-1' }
		expect(events).toEqual([
			{
				...shared,
				type: 'retry_attempt',
				timestamp: 1_000_000,
				attempt: 1,
				maxRetries: 3,
				delayMs: 100,
				delaySource: 'backoff',
				outcome: 'transient',
				errorType: 'HttpError',
				errorMessage: 'HTTP 500',
				errorCode: 'YAOKI_HTTP',
				statusCode: 500,
			},
			{ ...shared, type: 'retry_success', timestamp: 1_000_100, attempt: 2, attempts: 2, durationMs: 100 },
		])
	})

	it('name the pipeline of the call, if it has a name', async () => {
		const policy = retry({ runtime: clock })
		policy.subscribe(listen)
		await pipeline({ runtime: clock, name: 'payments' }, policy).execute(() => 1)
		await pipeline({ runtime: clock }, policy).execute(() => 1)
		expect(events.map(({ emitter: name, pipeline: around }) => [name, around])).toEqual([
			['retry', 'payments'],
			['retry', undefined],
		])
	})

	it('report a success without retries, because rates need a denominator', async () => {
		const policy = retry({ runtime: clock })
		policy.subscribe(listen)
		await policy.execute(() => 1)
		expect(events).toEqual([
			{
				type: 'retry_success',
				emitter: 'retry',
				callId: 'call-1',
				attempt: 1,
				timestamp: 1_000_000,
				attempts: 1,
				durationMs: 0,
			},
		])
	})

	it('report why a call was not retried further', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: 0 })
		policy.subscribe(listen)
		await policy.settle(dead(clock))
		expect(events).toMatchObject([
			{
				type: 'retry_failure',
				stop: 'retries-exhausted',
				attempts: 1,
				errorType: 'Error',
				errorMessage: 'down',
			},
		])
	})

	it('report unwanted results without an error', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: 1, retryResult: () => true })
		policy.subscribe(listen)
		await settled(
			clock,
			policy.execute(() => 1),
		)
		expect(events).toMatchObject([
			{ type: 'retry_attempt', outcome: 'unwanted-result' },
			{ type: 'retry_failure', stop: 'retries-exhausted' },
		])
		expect(events.some((event) => 'errorType' in event)).toBe(false)
	})

	it('report an abort during a wait', async () => {
		const policy = retry({ ...steady, runtime: clock })
		policy.subscribe(listen)
		const caller = new AbortController()
		const answer = policy.settle(dead(clock), { signal: caller.signal })
		await clock.advance(50)
		caller.abort(new Error('left'))
		await answer
		expect(events.at(-1)).toMatchObject({
			type: 'retry_failure',
			stop: 'abort',
			errorMessage: 'left',
			durationMs: 50,
		})
	})

	it('survive a round trip through JSON lines', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: Infinity, maxElapsedMs: 500 })
		policy.subscribe(listen)
		await settled(clock, policy.execute(dead(clock), { name: 'x' }))
		await policy.execute(() => 1)
		expect(events.length).toBeGreaterThan(3)
		expect(JSON.parse(JSON.stringify(events))).toStrictEqual(events)
	})

	it('the events of all policies of a pipeline reach one subscription, once each', async () => {
		const policy = retry({ ...steady, runtime: clock })
		const all = pipeline({ runtime: clock }, pipeline(policy), faults(), policy)
		const stop = all.subscribe(listen)
		await all.execute(() => 1)
		expect(events.length).toBe(2)
		stop()
		await all.execute(() => 1)
		expect(events.length).toBe(2)
	})

	it('reach every listener, and each subscription ends separately', async () => {
		const policy = retry({ runtime: clock })
		const [first, second] = [policy.subscribe(listen), policy.subscribe(listen)]
		await policy.execute(() => 1)
		first()
		first()
		await policy.execute(() => 1)
		second()
		await policy.execute(() => 1)
		expect(events.length).toBe(3)
	})

	it('a listener that throws affects neither the call nor other listeners', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const policy = retry({ runtime: clock })
		policy.subscribe(() => {
			throw new Error('metrics are down')
		})
		policy.subscribe(listen)
		expect(await policy.execute(() => 1)).toBe(1)
		expect(events.length).toBe(1)
		// For the event of the retry and for that of the call.
		expect(warn).toHaveBeenCalledTimes(2)
	})

	it('cost nothing without a listener: the wall clock is not read', async () => {
		const wall = vi.spyOn(clock, 'wallNow')
		const policy = retry({ ...steady, runtime: clock })
		await settled(clock, policy.execute(dead(clock)))
		expect(wall).not.toHaveBeenCalled()
		policy.subscribe(listen)()
		await policy.execute(() => 1)
		expect(wall).not.toHaveBeenCalled()
	})
})
