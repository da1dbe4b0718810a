import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import {
	type CallContext,
	Deadline,
	explain,
	HttpError,
	pipeline,
	type RetryOptions,
	retry,
	retryWithBackoff,
	type YaokiEvent,
} from 'yaoki'
import { faults, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, exceptCalls, failing, settled, steady, taking } from '../../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime()
})
const thrown = new Error('hook')
const throwing = (): never => {
	throw thrown
}

describe('regressions: hooks', () => {
	it('a classify that threw without a retry was thrown out of execute, and hung the callback runner', async () => {
		const policy = pipeline({ runtime: clock, classify: throwing })
		expect(await policy.settle(() => Promise.reject(new Error('x')))).toEqual({ ok: false, error: thrown })
		await expect(
			policy.execute(() => {
				throw new Error('sync')
			}),
		).rejects.toBe(thrown)
		const done = vi.fn()
		clock.run(policy, (_, answer) => answer(new Error('x')), done)
		expect(done).toHaveBeenCalledExactlyOnceWith(thrown)
		expect(explain(thrown)?.stop).toBe('hook-threw')
	})

	it.each<[string, RetryOptions]>([
		['shouldRetry', { shouldRetry: throwing }],
		['classify', { classify: throwing }],
		['retryResult', { retryResult: throwing }],
	])('a %s that threw was missing from events, and its attempt from explain', async (hook, options) => {
		const policy = retry({ ...steady, runtime: clock, ...options })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		const result = await policy.settle(hook === 'retryResult' ? failing(clock) : dead(clock))
		expect(events).toMatchObject([{ type: 'retry_failure', stop: 'hook-threw', errorMessage: 'hook' }])
		expect(explain(result)?.attempts).toHaveLength(1)
	})

	it('a classify without a return value hid the error behind a TypeError', async () => {
		const policy = retry({ runtime: clock, classify: () => undefined as never })
		await expect(policy.execute(dead(clock))).rejects.toThrow(
			'Invalid option "classify(error)": expected a function that returns { kind, isKnown }, got undefined',
		)
	})

	it("a user's classifier lost the Retry-After of the error", async () => {
		const work = failing(clock, new HttpError(429, undefined, { retryAfterMs: 7777 }))
		await settled(
			clock,
			retryWithBackoff(work, {
				...steady,
				runtime: clock,
				classify: () => ({ kind: 'throttled', isKnown: true }),
			}),
		)
		expect(work.startedAt[1]).toBeGreaterThanOrEqual(7777)
	})

	it('a delayFor that returned null used the backoff but reported delay-for', async () => {
		const error = new Error('x')
		await settled(
			clock,
			retryWithBackoff(dead(clock, error), {
				...steady,
				runtime: clock,
				maxRetries: 1,
				delayFor: () => null as never,
			}),
		)
		expect(explain(error)?.attempts[0]).toMatchObject({ delayMs: 100, delaySource: 'backoff' })
	})

	it('an error with unreadable properties is retried and thrown unchanged', async () => {
		const hostile = new Proxy(new Error('x'), { get: throwing })
		const work = dead(clock, hostile)
		const answer = await settled(clock, retryWithBackoff(work, { ...steady, runtime: clock }))
		expect(answer.ok === false && answer.error === hostile).toBe(true)
		expect(work.attempts).toHaveLength(4)
	})

	it('an error with an unreadable message broke the call when there was a listener', async () => {
		const hostile = Object.defineProperty(new Error(), 'message', { get: throwing })
		const policy = retry({ ...steady, runtime: clock })
		policy.subscribe(() => {})
		const work = dead(clock, hostile)
		const answer = await settled(clock, policy.execute(work))
		expect(answer.ok === false && answer.error).toBe(hostile)
		expect(work.attempts).toHaveLength(4)
		expect(explain(hostile)?.attempts[0]).toMatchObject({ errorType: 'object', errorMessage: '' })
	})
})

describe('regressions: attempts', () => {
	it('two retries in one pipeline used the same attempt numbers, and explain lost some', async () => {
		const results = ['bad', new Error('2'), new Error('3'), 'ok']
		const attempts: number[] = []
		const work = async ({ attempt }: CallContext) => {
			attempts.push(attempt)
			const result = results.shift()
			if (result instanceof Error) throw result
			return result
		}
		const policy = pipeline(
			{ runtime: clock },
			retry({ ...steady, retryResult: (value) => value === 'bad' }),
			retry(steady),
		)
		const answer = policy.settle(work)
		await clock.runUntilIdle()
		expect(attempts).toEqual([0, 1, 2, 3])
		expect(explain(await answer)?.attempts.map(({ outcome }) => outcome)).toEqual([
			'unwanted-result',
			'transient',
			'transient',
			'success',
		])
	})

	it("the inner of two retries started its decorrelated delays from the outer's delay", async () => {
		const results = ['bad', new Error('2'), 'ok']
		const delays: number[] = []
		const work = async () => {
			const result = results.shift()
			if (result instanceof Error) throw result
			return result
		}
		const inner = retry({
			baseDelayMs: 100,
			jitterStrategy: 'decorrelated',
			onRetry: (_, __, ms) => delays.push(ms),
		})
		const outer = retry({
			baseDelayMs: 20_000,
			jitterStrategy: 'none',
			retryResult: (value) => value === 'bad',
		})
		await settled(clock, pipeline({ runtime: clock }, outer, inner).execute(work))
		expect(delays[0]).toBeLessThan(300)
	})

	it('polling with retryResult kept every earlier result alive', async () => {
		const refs: WeakRef<object>[] = []
		const policy = retry({ ...steady, runtime: clock, maxRetries: 50, retryResult: () => refs.length < 50 })
		const answer = policy.settle(() => {
			const big = { of: new Array(1000).fill(refs.length) }
			refs.push(new WeakRef(big))
			return big
		})
		await clock.runUntilIdle()
		expect((await answer).ok).toBe(true)
		await new Promise((resolve) => setImmediate(resolve))
		globalThis.gc?.()
		expect(refs.filter((ref) => ref.deref()).length).toBeLessThan(10)
	})

	it('the time for many retries grew quadratically', async () => {
		const policy = retry({
			growth: 'constant',
			baseDelayMs: 1,
			jitterStrategy: 'none',
			runtime: clock,
			maxRetries: 30_000,
		})
		const answer = policy.settle(async () => {
			throw new Error('new each time')
		})
		await clock.runUntilIdle()
		expect(explain(await answer)?.attempts).toHaveLength(30_001)
	})

	it("a listener that subscribed during a call got a duration since the clock's zero", async () => {
		await clock.advance(1_000_000)
		const policy = retry({ ...steady, runtime: clock })
		const events: YaokiEvent[] = []
		const answer = policy.settle(failing(clock, new Error('x')))
		await clock.advance(50)
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await clock.runUntilIdle()
		await answer
		expect(events).toMatchObject([{ type: 'retry_success', attempts: 2, durationMs: 100 }])
	})

	it('attempts without a wait between them ignored timers and aborts', async () => {
		const caller = new AbortController()
		let calls = 0
		setTimeout(() => caller.abort('heard'), 5)
		const answer = retry({ baseDelayMs: 0, maxRetries: 1_000_000 }).settle(
			async () => {
				calls++
				throw new Error('x')
			},
			{ signal: caller.signal },
		)
		expect(await answer).toEqual({ ok: false, error: 'heard' })
		expect(calls).toBeLessThan(1000)
	})
})

describe('regressions: deadlines and signals', () => {
	it("a deadline's signal fired early on the system clock, and the stop reason was cancelled", async () => {
		const stops = await Promise.all(
			Array.from({ length: 40 }, async (_, i) => {
				const deadline = Deadline.after(3 + i / 7)
				const result = await retry().settle(
					({ signal }) =>
						new Promise((_, reject) => {
							const abort = () => reject(signal.reason)
							// On a busy machine the deadline may pass before the operation runs.
							if (signal.aborted) abort()
							else signal.addEventListener('abort', abort)
						}),
					{ deadline, signal: AbortSignal.timeout(60_000) },
				)
				return [explain(result)?.stop, deadline.isExpired]
			}),
		)
		expect(stops).toEqual(stops.map(() => ['deadline', true]))
	})

	it("a signal read after the call had settled stayed linked to the caller's permanently", async () => {
		const caller = new AbortController()
		const deadline = Deadline.after(1000, { runtime: clock })
		const context = await retry({ runtime: clock }).execute((ctx) => ctx, { signal: caller.signal, deadline })
		expect(context.signal.aborted).toBe(false)
		expect([getEventListeners(caller.signal, 'abort').length, clock.pendingTimers]).toEqual([0, 0])
		await clock.advance(5000)
		expect(context.signal.aborted).toBe(false)
	})

	it('a deadline that expired during an injected latency did not prevent the operation', async () => {
		const work = vi.fn()
		const slow = pipeline({ runtime: clock }, faults({ latencyMs: 5000 }))
		const answer = slow.settle(work, { deadline: Deadline.after(100, { runtime: clock }) })
		await clock.runUntilIdle()
		expect(explain(await answer)?.stop).toBe('deadline')
		expect(work).not.toHaveBeenCalled()
	})

	it('a nested call reported abort when the shared deadline had expired', async () => {
		const deadline = Deadline.after(100, { runtime: clock })
		const inner = retry({ ...steady, runtime: clock })
		let stopReason: unknown
		const outer = retry({ runtime: clock, maxRetries: 0 }).settle(
			async (ctx) => {
				const result = await inner.settle(taking(clock, 200, new Error('slow')), ctx)
				stopReason = explain(result)?.stop
			},
			{ deadline },
		)
		await clock.runUntilIdle()
		await outer
		expect(stopReason).toBe('deadline')
	})

	it('signals without throwIfAborted, as in older polyfills, failed every call', async () => {
		const { signal } = new AbortController()
		const old = {
			aborted: false,
			reason: undefined,
			addEventListener: signal.addEventListener.bind(signal),
			removeEventListener: signal.removeEventListener.bind(signal),
		}
		const answer = retry({ ...steady, runtime: clock }).settle(failing(clock, new Error('x')), {
			signal: old as never,
		})
		await clock.runUntilIdle()
		expect(await answer).toEqual({ ok: true, value: 'ok' })
	})
})

describe('regressions: virtual time', () => {
	it('ran backwards for a negative time or for two concurrent advances', async () => {
		await clock.advance(100)
		expect(() => clock.runTimers(-50)).toThrow(/Invalid argument "ms": expected .*, got -50/)
		await Promise.all([clock.advance(100), clock.advance(10)])
		expect(clock.now()).toBe(200)
	})
})
