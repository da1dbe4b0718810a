import { beforeEach, describe, expect, it, vi } from 'vitest'
import { bulkhead, explain, HttpError, type Policy, pipeline, retry, retryWithBackoff } from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady, taking } from '../../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime({ startAt: 5_000_000 })
})

describe('explain', () => {
	it('lists each attempt of a failed call: start, duration, kind, delay and source of the delay', async () => {
		const last = new Error('third')
		const errors = [new HttpError(503, undefined, { retryAfterMs: 700 }), new Error('second'), last]
		const operation = () => taking(clock, 50, errors.shift())()
		// No jitter on top of the Retry-After.
		vi.spyOn(clock, 'random').mockReturnValue(0)
		await clock.advance(1000)
		await settled(
			clock,
			retryWithBackoff(operation, { ...steady, name: 'users', runtime: clock, maxRetries: 2 }),
		)
		const explanation = explain(last)
		expect(explanation).toMatchObject({
			name: 'users',
			startedAt: 5_001_000,
			durationMs: 50 + 700 + 50 + 200 + 50,
			stop: 'retries-exhausted',
		})
		expect(explanation?.attempts).toEqual([
			{
				attempt: 1,
				startMs: 0,
				durationMs: 50,
				outcome: 'throttled',
				errorType: 'HttpError',
				errorMessage: 'HTTP 503',
				delayMs: 700,
				delaySource: 'retry-after',
			},
			{
				attempt: 2,
				startMs: 750,
				durationMs: 50,
				outcome: 'transient',
				errorType: 'Error',
				errorMessage: 'second',
				delayMs: 200,
				delaySource: 'backoff',
			},
			{
				attempt: 3,
				startMs: 1000,
				durationMs: 50,
				outcome: 'transient',
				errorType: 'Error',
				errorMessage: 'third',
			},
		])
	})

	it('converts to a readable text', async () => {
		const last = new Error('boom')
		await settled(
			clock,
			retryWithBackoff(failing(clock, new Error('bang'), last), { ...steady, runtime: clock, maxRetries: 1 }),
		)
		expect(String(explain(last))).toBe(
			[
				'retryWithBackoff: 2 attempts in 100 ms, stopped: retries-exhausted',
				'  #1 at 0 ms, took 0 ms: transient (Error: bang), retry in 100 ms (backoff)',
				'  #2 at 100 ms, took 0 ms: transient (Error: boom)',
			].join('\n'),
		)
	})

	it.each([
		['retries-exhausted', { maxRetries: 0 }, new Error('x')],
		['permanent', {}, new HttpError(404)],
		['cancelled', {}, Object.assign(new Error('open'), { code: 'YAOKI_CIRCUIT_OPEN' })],
		['should-retry-false', { shouldRetry: () => false }, new Error('x')],
		['elapsed-limit', { maxElapsedMs: 50 }, new Error('x')],
	] as const)('reports the reason of the stop: %s', async (stop, options, error) => {
		await settled(clock, retryWithBackoff(dead(clock, error), { ...steady, runtime: clock, ...options }))
		expect(explain(error)?.stop).toBe(stop)
	})

	it('reports not-retried without a retry policy', async () => {
		const error = new Error('x')
		await pipeline({ runtime: clock, name: 'bare' }, faults()).settle(() => Promise.reject(error))
		expect(explain(error)).toMatchObject({
			name: 'bare',
			stop: 'not-retried',
			attempts: [{ outcome: 'transient' }],
		})
	})

	it('explains a settled success after failures', async () => {
		const result = await (async () => {
			const settling = retry({ ...steady, runtime: clock }).settle(failing(clock, new Error('x')), {
				name: 'load',
			})
			await clock.runUntilIdle()
			return settling
		})()
		expect(explain(result)).toMatchObject({
			name: 'load',
			stop: 'success',
			durationMs: 100,
			attempts: [
				{ outcome: 'transient', delayMs: 100 },
				{ attempt: 2, startMs: 100, durationMs: 0, outcome: 'success' },
			],
		})
	})

	it('explains a settled success without failures, which is not measured', async () => {
		const explanation = explain(await retry({ runtime: clock }).settle(() => 1))
		expect(explanation).toMatchObject({ stop: 'success', attempts: [{ attempt: 1, outcome: 'success' }] })
		expect(String(explanation)).toBe('call: 1 attempt, succeeded\n  #1: success')
	})

	it('lists unwanted results', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: 1, retryResult: () => true })
		const settling = policy.settle(() => 'meh')
		await clock.runUntilIdle()
		expect(explain(await settling)).toMatchObject({
			stop: 'retries-exhausted',
			attempts: [{ outcome: 'unwanted-result', delayMs: 100 }, { outcome: 'unwanted-result' }],
		})
	})

	it('explains the latest call for an error that ended several; a settled result is exact', async () => {
		const error = new Error('shared')
		const policy = retry({ ...steady, runtime: clock, maxRetries: 0 })
		const first = await policy.settle(() => Promise.reject(error), { name: 'first' })
		const second = await policy.settle(() => Promise.reject(error), { name: 'second' })
		expect(explain(error)?.name).toBe('second')
		expect(explain(first)?.name).toBe('first')
		expect(explain(second)?.name).toBe('second')
	})

	it('adds the cause to the message, as for errors of fetch', async () => {
		const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
		const errors = [
			[new TypeError('fetch failed', { cause }), 'fetch failed: ECONNREFUSED'],
			[new Error('outer', { cause: new Error('inner') }), 'outer: inner'],
			[new AggregateError([cause, new Error('y')], ''), 'ECONNREFUSED'],
			// The message of an error of this package says more than its code, for example why a circuit is open.
			[new Error('circuit is open', { cause: new HttpError(503) }), 'circuit is open: HTTP 503'],
		] as const
		for (const [error, text] of errors) {
			await retry({ maxRetries: 0, runtime: clock }).settle(() => Promise.reject(error))
			expect(explain(error)?.attempts[0]?.errorMessage).toBe(text)
		}
	})

	it('returns undefined for primitives and for values that did not end a call', async () => {
		await settled(clock, retryWithBackoff(dead(clock, 'text'), { ...steady, runtime: clock }))
		for (const value of ['text', undefined, null, 5, new Error('never thrown'), {}, { ok: false }]) {
			expect(explain(value)).toBeUndefined()
		}
	})

	it("adds no visible property to the user's error, frozen ones included", async () => {
		const error = Object.freeze(new Error('frozen'))
		await settled(clock, retryWithBackoff(dead(clock, error), { ...steady, runtime: clock, maxRetries: 1 }))
		expect(Reflect.ownKeys(error).sort()).toEqual(['message', 'stack'])
		expect(explain(error)?.attempts).toHaveLength(2)
	})

	it('returns independent copies', async () => {
		const error = new Error('x')
		await retry({ maxRetries: 0, runtime: clock }).settle(() => Promise.reject(error))
		const explanation = explain(error)
		Object.assign(explanation?.attempts[0] ?? {}, { outcome: 'success' })
		expect(explain(error)?.attempts[0]?.outcome).toBe('transient')
	})

	it('does not read the clock after many successes, and measures again after a failure', async () => {
		const now = vi.spyOn(clock, 'now')
		const policy = retry({ ...steady, runtime: clock, maxRetries: 0 })
		for (let call = 0; call < 100; call++) await policy.execute(() => 1)
		now.mockClear()
		await policy.execute(() => 1)
		expect(now).not.toHaveBeenCalled()
		const first = await policy.execute(() => Promise.reject(new Error('first'))).catch((error) => error)
		expect(explain(first)?.attempts).toEqual([
			{ attempt: 1, outcome: 'transient', errorType: 'Error', errorMessage: 'first' },
		])
		expect(String(explain(first))).toBe(
			'retry: 1 attempt (start not measured: set exactTimes), stopped: retries-exhausted\n' +
				'  #1: transient (Error: first)',
		)
		const second = await policy.settle(() => Promise.reject(new Error('second')))
		expect(explain(second)?.attempts[0]).toMatchObject({ startMs: 0, durationMs: 0 })
		const named = await policy.settle(() => Promise.reject(new Error('third')), { name: 'a named call' })
		expect(explain(named)?.attempts[0]).toMatchObject({ startMs: 0, durationMs: 0 })
	})

	it.each([
		['the option exactTimes', { exactTimes: true }, () => {}],
		['a listener', {}, (policy: Policy) => policy.subscribe(() => {})],
	])('has the times of the first failure after many successes with %s', async (_, options, prepare) => {
		const policy = pipeline({ runtime: clock, ...options }, retry({ ...steady, maxRetries: 0 }))
		prepare(policy)
		for (let call = 0; call < 150; call++) await policy.execute(() => 1)
		await clock.advance(1_000)
		const error = new Error('first')
		await settled(clock, policy.execute(taking(clock, 50, error)))
		expect(explain(error)).toMatchObject({ startedAt: 5_001_000, durationMs: 50 })
		expect(explain(error)?.attempts).toMatchObject([{ startMs: 0, durationMs: 50 }])
		expect(String(explain(error))).not.toContain('not measured')
	})

	it('has the times of a settled call after many successes, because its result is there to be explained', async () => {
		const policy = retry({ ...steady, maxRetries: 0, runtime: clock })
		for (let call = 0; call < 150; call++) await policy.settle(() => 1)
		const result = policy.settle(taking(clock, 50, new Error('first')))
		await clock.advance(50)
		expect(explain(await result)).toMatchObject({
			durationMs: 50,
			attempts: [{ startMs: 0, durationMs: 50 }],
		})
	})

	it("follows the causes of a user's own error, in cycles too", async () => {
		const cause = new Error('down')
		await retry({ ...steady, name: 'users', maxRetries: 0, runtime: clock }).settle(() =>
			Promise.reject(cause),
		)
		const own = new Error('order failed', { cause: new Error('no user', { cause }) })
		expect(explain(own)).toMatchObject({ name: 'users', stop: 'retries-exhausted' })
		// The nearest call.
		await retry({ ...steady, name: 'orders', maxRetries: 0, runtime: clock }).settle(() =>
			Promise.reject(own),
		)
		expect(explain(new Error('page failed', { cause: own }))).toMatchObject({ name: 'orders' })
		const cycle = new Error('a')
		cycle.cause = new Error('b', { cause: cycle })
		expect(explain(cycle)).toBeUndefined()
		expect(explain(new Error('alone', { cause: 'text' }))).toBeUndefined()
	})

	it('holds its records weakly', async () => {
		const { gc } = globalThis
		expect(gc).toBeTypeOf('function')
		const policy = retry({ maxRetries: 0, runtime: clock })
		const makeOne = async () => {
			const settledOne = await policy.settle(() => Promise.reject(new Error('x')))
			expect(explain(settledOne)).toBeDefined()
			return new WeakRef(settledOne)
		}
		const refs = await Promise.all(Array.from({ length: 100 }, makeOne))
		await new Promise((resolve) => setImmediate(resolve))
		gc?.()
		expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(10)
	})
})

describe('before the first attempt', () => {
	it('explains a rejection with its error and without an attempt', async () => {
		const policy = pipeline({ name: 'payments', runtime: clock }, bulkhead({ maxConcurrent: 1, maxQueue: 0 }))
		void policy.execute(() => new Promise(() => {}))
		const result = await settled(
			clock,
			policy.execute(() => 1),
		)
		const { message } = Object(result.ok ? undefined : result.error)
		const explanation = explain(result.ok ? undefined : result.error)
		expect(explanation).toMatchObject({
			attempts: [],
			stop: 'rejected',
			errorType: 'BulkheadRejectedError',
			durationMs: 0,
		})
		expect(String(explanation)).toBe(
			`payments: 0 attempts in 0 ms, stopped: rejected (BulkheadRejectedError: ${message})`,
		)
	})

	it('measures a rejection after a wait in the queue', async () => {
		const policy = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 300, runtime: clock })
		void policy.execute(() => new Promise(() => {}))
		const result = await settled(
			clock,
			policy.execute(() => 1),
		)
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'rejected', durationMs: 300 })
	})

	it('counts time in a queue to the call, and reports it at the attempt after it', async () => {
		const policy = pipeline(
			{ name: 'payments', runtime: clock },
			bulkhead({ maxConcurrent: 1 }),
			retry({ maxRetries: 0 }),
		)
		void policy.execute(taking(clock, 200))
		const result = await settled(clock, policy.execute(taking(clock, 50, new Error('down'))))
		const explanation = explain(result.ok ? undefined : result.error)
		expect(explanation).toMatchObject({
			durationMs: 250,
			attempts: [{ startMs: 200, durationMs: 50, queuedMs: 200, outcome: 'transient' }],
		})
		expect(String(explanation)).toContain('#1 at 200 ms, queued 200 ms, took 50 ms: transient')
	})
})
