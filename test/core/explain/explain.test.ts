import { beforeEach, describe, expect, it, vi } from 'vitest'
import { bulkhead, explain, HttpError, pipeline, retry, retryWithBackoff } from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady, taking } from '../../scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime({ startAt: 5_000_000 })
})

describe('explain', () => {
	it('tells each attempt of a failed call: start, duration, kind, wait and where the wait came from', async () => {
		const last = new Error('third')
		const errors = [new HttpError(503, undefined, { retryAfterMs: 700 }), new Error('second'), last]
		const work = () => taking(clock, 50, errors.shift())()
		await clock.advance(1000)
		await settled(clock, retryWithBackoff(work, { ...steady, name: 'users', runtime: clock, maxRetries: 2 }))
		const told = explain(last)
		expect(told).toMatchObject({
			name: 'users',
			startedAt: 5_001_000,
			durationMs: 50 + 700 + 50 + 200 + 50,
			stop: 'retries-exhausted',
		})
		expect(told?.attempts).toEqual([
			{
				attempt: 0,
				startMs: 0,
				durationMs: 50,
				outcome: 'throttled',
				errorType: 'HttpError',
				errorMessage: 'HTTP 503',
				delayMs: 700,
				delaySource: 'retry-after',
			},
			{
				attempt: 1,
				startMs: 750,
				durationMs: 50,
				outcome: 'transient',
				errorType: 'Error',
				errorMessage: 'second',
				delayMs: 200,
				delaySource: 'backoff',
			},
			{
				attempt: 2,
				startMs: 1000,
				durationMs: 50,
				outcome: 'transient',
				errorType: 'Error',
				errorMessage: 'third',
			},
		])
	})

	it('is readable in a log', async () => {
		const last = new Error('boom')
		await settled(
			clock,
			retryWithBackoff(failing(clock, new Error('bang'), last), { ...steady, runtime: clock, maxRetries: 1 }),
		)
		expect(String(explain(last))).toBe(
			[
				'retryWithBackoff: 2 attempts in 100 ms, ended by retries-exhausted',
				'  #1 at 0 ms, took 0 ms: transient (Error: bang), then a wait of 100 ms (backoff)',
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
	] as const)('tells why it stopped: %s', async (stop, options, error) => {
		await settled(clock, retryWithBackoff(dead(clock, error), { ...steady, runtime: clock, ...options }))
		expect(explain(error)?.stop).toBe(stop)
	})

	it('tells that nothing was there to retry', async () => {
		const error = new Error('x')
		await pipeline({ runtime: clock, name: 'bare' }, faults()).settle(() => Promise.reject(error))
		expect(explain(error)).toMatchObject({
			name: 'bare',
			stop: 'not-retried',
			attempts: [{ outcome: 'transient' }],
		})
	})

	it('tells of a settled success after failures, exactly', async () => {
		const result = await (async () => {
			const answer = retry({ ...steady, runtime: clock }).settle(failing(clock, new Error('x')), {
				name: 'load',
			})
			await clock.runUntilIdle()
			return answer
		})()
		expect(explain(result)).toMatchObject({
			name: 'load',
			stop: 'success',
			durationMs: 100,
			attempts: [
				{ outcome: 'transient', delayMs: 100 },
				{ attempt: 1, startMs: 100, durationMs: 0, outcome: 'success' },
			],
		})
	})

	it('tells of a settled success that never failed without having measured it', async () => {
		const told = explain(await retry({ runtime: clock }).settle(() => 1))
		expect(told).toMatchObject({ stop: 'success', attempts: [{ attempt: 0, outcome: 'success' }] })
		expect(String(told)).toBe('call: 1 attempt, ended by success\n  #1: success')
	})

	it('tells of unwanted results', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: 1, retryResult: () => true })
		const answer = policy.settle(() => 'meh')
		await clock.runUntilIdle()
		expect(explain(await answer)).toMatchObject({
			stop: 'retries-exhausted',
			attempts: [{ outcome: 'unwanted-result', delayMs: 100 }, { outcome: 'unwanted-result' }],
		})
	})

	it('an error that ended several calls tells of the latest; a settled result is exact', async () => {
		const error = new Error('shared')
		const policy = retry({ ...steady, runtime: clock, maxRetries: 0 })
		const first = await policy.settle(() => Promise.reject(error), { name: 'first' })
		const second = await policy.settle(() => Promise.reject(error), { name: 'second' })
		expect(explain(error)?.name).toBe('second')
		expect(explain(first)?.name).toBe('first')
		expect(explain(second)?.name).toBe('second')
	})

	it('tells the cause beside a message that says nothing, as fetch throws it', async () => {
		const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
		const errors = [
			[new TypeError('fetch failed', { cause: refused }), 'fetch failed: ECONNREFUSED'],
			[new Error('outer', { cause: new Error('inner') }), 'outer: inner'],
			[new AggregateError([refused, new Error('y')], ''), 'ECONNREFUSED'],
		] as const
		for (const [error, text] of errors) {
			await retry({ maxRetries: 0, runtime: clock }).settle(() => Promise.reject(error))
			expect(explain(error)?.attempts[0]?.errorMessage).toBe(text)
		}
	})

	it('is undefined for primitives and for strangers', async () => {
		await settled(clock, retryWithBackoff(dead(clock, 'text'), { ...steady, runtime: clock }))
		for (const stranger of ['text', undefined, null, 5, new Error('never thrown'), {}, { ok: false }]) {
			expect(explain(stranger)).toBeUndefined()
		}
	})

	it("puts nothing on the user's error, frozen ones included", async () => {
		const error = Object.freeze(new Error('frozen'))
		await settled(clock, retryWithBackoff(dead(clock, error), { ...steady, runtime: clock, maxRetries: 1 }))
		expect(Reflect.ownKeys(error).sort()).toEqual(['message', 'stack'])
		expect(explain(error)?.attempts).toHaveLength(2)
	})

	it('an explanation can not be changed through another one', async () => {
		const error = new Error('x')
		await retry({ maxRetries: 0, runtime: clock }).settle(() => Promise.reject(error))
		const told = explain(error)
		Object.assign(told?.attempts[0] ?? {}, { outcome: 'success' })
		expect(explain(error)?.attempts[0]?.outcome).toBe('transient')
	})

	it('does not even look at the clock when a policy has been quiet, and measures again after a failure', async () => {
		const now = vi.spyOn(clock, 'now')
		const policy = retry({ ...steady, runtime: clock, maxRetries: 0 })
		for (let call = 0; call < 100; call++) await policy.execute(() => 1)
		now.mockClear()
		await policy.execute(() => 1)
		expect(now).not.toHaveBeenCalled()
		const first = await policy.settle(() => Promise.reject(new Error('first')))
		expect(explain(first)?.attempts).toEqual([
			{ attempt: 0, outcome: 'transient', errorType: 'Error', errorMessage: 'first' },
		])
		expect(String(explain(first))).toBe(
			'retry: 1 attempt, ended by retries-exhausted\n  #1: transient (Error: first)',
		)
		const second = await policy.settle(() => Promise.reject(new Error('second')))
		expect(explain(second)?.attempts[0]).toMatchObject({ startMs: 0, durationMs: 0 })
		const named = await policy.settle(() => Promise.reject(new Error('third')), { name: 'a named call' })
		expect(explain(named)?.attempts[0]).toMatchObject({ startMs: 0, durationMs: 0 })
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

describe('what happened before the work', () => {
	it('a refusal is told with what refused, and no attempt', async () => {
		const policy = pipeline({ name: 'payments', runtime: clock }, bulkhead({ maxConcurrent: 1, maxQueue: 0 }))
		void policy.execute(() => new Promise(() => {}))
		const result = await settled(
			clock,
			policy.execute(() => 1),
		)
		const explanation = explain(result.ok ? undefined : result.error)
		expect(explanation).toMatchObject({
			attempts: [],
			stop: 'rejected',
			errorType: 'BulkheadRejectedError',
			durationMs: 0,
		})
		expect(String(explanation)).toBe(
			'payments: 0 attempts in 0 ms, ended by refused (BulkheadRejectedError: bulkhead: all 1 slots and all 0 places in the queue are taken)',
		)
	})

	it('a refusal after a wait in the queue tells how long that took', async () => {
		const policy = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 300, runtime: clock })
		void policy.execute(() => new Promise(() => {}))
		const result = await settled(
			clock,
			policy.execute(() => 1),
		)
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'rejected', durationMs: 300 })
	})

	it('time in a queue belongs to the call, and to the attempt that came after it', async () => {
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
		expect(String(explanation)).toContain('#1 at 200 ms after 200 ms in a queue, took 50 ms: transient')
	})
})
