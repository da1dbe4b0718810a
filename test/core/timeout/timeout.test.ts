import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test, vi } from 'vitest'
import { Deadline, explain, pipeline, retry, timeout, type YaokiEvent } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, steady, taking } from '../../support/scenario.ts'

const never = () => new Promise<never>(() => {})

/** Work that settles only when its signal says so, with the signal's reason. */
const obedient = ({ signal }: { signal: AbortSignal }) =>
	new Promise<never>((_, reject) => {
		signal.addEventListener('abort', () => reject(signal.reason))
	})

describe('a timeout', () => {
	test('ends the call when it expires, even if the operation ignores it', async () => {
		const clock = virtualRuntime()
		const result = await settled(clock, timeout(50, { runtime: clock }).execute(never))
		expect(result).toMatchObject({
			ok: false,
			error: {
				name: 'TimeoutError',
				code: 'YAOKI_TIMEOUT',
				timeoutMs: 50,
				message: 'timeout: no result within 50 ms',
			},
		})
		expect(clock.now()).toBe(50)
	})

	test("aborts the operation's signal with the same error", async () => {
		const clock = virtualRuntime()
		const reasons: unknown[] = []
		const result = await settled(
			clock,
			timeout(50, { runtime: clock }).execute(({ signal }) => {
				signal.addEventListener('abort', () => reasons.push(signal.reason))
				return never()
			}),
		)
		expect(reasons).toEqual([result.ok ? undefined : result.error])
	})

	test('shows an aborted signal also to an operation that reads it later', async () => {
		const clock = virtualRuntime()
		let later: (() => AbortSignal) | undefined
		await settled(
			clock,
			timeout(50, { runtime: clock }).execute((context) => {
				later = () => context.signal
				return never()
			}),
		)
		expect(later?.().aborted).toBe(true)
		expect(later?.().reason).toMatchObject({ name: 'TimeoutError' })
	})

	test('does nothing to an operation that settles in time, not even afterwards', async () => {
		const clock = virtualRuntime()
		const signals: AbortSignal[] = []
		const work = taking(clock, 49)
		const answer = timeout(50, { runtime: clock }).execute(({ signal }) => {
			signals.push(signal)
			return work()
		})
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'ok' })
		await clock.advance(1_000)
		expect(signals[0]?.aborted).toBe(false)
	})

	test("is distinguishable from the caller's own abort", async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const answer = settled(
			clock,
			timeout(50, { runtime: clock }).execute(obedient, { signal: controller.signal }),
		)
		controller.abort(new Error('I changed my mind'))
		expect(await answer).toMatchObject({ ok: false, error: { message: 'I changed my mind' } })
	})

	test('inside a retry applies to each attempt', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 2 }), timeout(50))
		const started: number[] = []
		const result = await settled(
			clock,
			policy.execute(() => {
				started.push(clock.now())
				return never()
			}),
		)
		expect(started).toEqual([0, 150, 400])
		expect(clock.now()).toBe(450)
		expect(result).toMatchObject({ ok: false, error: { name: 'TimeoutError' } })
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({
			stop: 'retries-exhausted',
			attempts: [
				{ outcome: 'transient', errorType: 'TimeoutError', durationMs: 50, delayMs: 100 },
				{ outcome: 'transient', errorType: 'TimeoutError', durationMs: 50, delayMs: 200 },
				{ outcome: 'transient', errorType: 'TimeoutError', durationMs: 50 },
			],
		})
	})

	test('inside a retry gives each attempt its own signal', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), timeout(50))
		const signals: AbortSignal[] = []
		await settled(
			clock,
			policy.execute(({ signal, attempt }) => {
				signals.push(signal)
				return attempt === 0 ? never() : 'ok'
			}),
		)
		expect(signals.map((signal) => signal.aborted)).toEqual([true, false])
	})

	test('outside a retry applies to the whole call, waits included', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, timeout(250), retry({ ...steady, maxRetries: 9 }))
		let calls = 0
		const result = await settled(
			clock,
			policy.execute(async () => {
				calls++
				throw new Error('down')
			}),
		)
		expect(result).toMatchObject({ ok: false, error: { name: 'TimeoutError' } })
		expect(clock.now()).toBe(250)
		expect(calls).toBe(2)
		expect(clock.pendingTimers).toBe(0)
	})

	test('outside wins over an inner one that expires at the same moment', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			timeout(50, { name: 'total' }),
			retry({ ...steady, maxRetries: 9 }),
			timeout(50, { name: 'attempt' }),
		)
		const result = await settled(clock, policy.execute(never))
		expect(result).toMatchObject({ ok: false, error: { message: 'total: no result within 50 ms' } })
		expect(clock.now()).toBe(50)
	})

	test('lets an outer retry repeat what it ended', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			retry({ ...steady, maxRetries: 1 }),
			timeout(250),
			retry({ ...steady, maxRetries: 9 }),
		)
		const started: number[] = []
		await settled(
			clock,
			policy.execute(async () => {
				started.push(clock.now())
				throw new Error('down')
			}),
		)
		expect(started).toEqual([0, 100, 350, 450])
	})

	test('a timeout of 0 ms ends the call immediately', async () => {
		const clock = virtualRuntime()
		expect(await settled(clock, timeout(0, { runtime: clock }).execute(never))).toMatchObject({ ok: false })
		expect(clock.now()).toBe(0)
	})

	test('can be longer than a JavaScript timer allows', async () => {
		const clock = virtualRuntime()
		const result = await settled(clock, timeout(2 ** 31 + 5, { runtime: clock }).execute(never))
		expect(result.ok).toBe(false)
		expect(clock.now()).toBe(2 ** 31 + 5)
	})

	test.each([Number.NaN, -1, Infinity, '5'])('rejects %s', (ms) => {
		expect(() => timeout(ms as number)).toThrow(
			`Invalid argument "ms": expected a finite number, 0 or more, got ${typeof ms === 'string' ? `"${ms}"` : ms}`,
		)
	})

	test('rejects unknown options', () => {
		expect(() => timeout(5, { nme: 'x' } as object)).toThrow(
			'Unknown option "nme" for timeout. Did you mean "name"?',
		)
	})

	test('emits one event', async () => {
		const clock = virtualRuntime()
		const events: YaokiEvent[] = []
		const policy = timeout(50, { runtime: clock, name: 'slow' })
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await settled(clock, policy.execute(never))
		expect(events).toEqual([
			{
				type: 'timeout',
				timeoutMs: 50,
				emitter: 'slow',
				callId: 'call-1',
				attempt: 1,
				timestamp: expect.any(Number),
			},
		])
	})

	test('can be changed for later calls', async () => {
		const clock = virtualRuntime()
		const policy = timeout(50, { runtime: clock })
		const first = policy.execute(never)
		policy.update(20)
		const second = policy.execute(never)
		const ends: string[] = []
		first.catch(() => ends.push(`first at ${clock.now()}`))
		second.catch(() => ends.push(`second at ${clock.now()}`))
		await clock.runUntilIdle()
		expect(ends).toEqual(['second at 20', 'first at 50'])
		expect(() => policy.update(-1)).toThrow(/Invalid argument "ms": expected .*, got -1/)
	})

	test('ignores the result of an operation that it ended', async () => {
		const clock = virtualRuntime()
		const unhandled = vi.fn()
		process.on('unhandledRejection', unhandled)
		const late = taking(clock, 100, new Error('too late'))
		expect(await settled(clock, timeout(50, { runtime: clock }).execute(late))).toMatchObject({
			error: { name: 'TimeoutError' },
		})
		await new Promise((resolve) => setImmediate(resolve))
		process.off('unhandledRejection', unhandled)
		expect(unhandled).not.toHaveBeenCalled()
	})

	test("leaves no listener on the caller's signal, and no timer", async () => {
		const clock = virtualRuntime()
		const { signal } = new AbortController()
		const added = vi.spyOn(signal, 'addEventListener')
		const removed = vi.spyOn(signal, 'removeEventListener')
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), timeout(50))
		const ask = (context: { signal: AbortSignal }) => (context.signal.aborted ? 'aborted' : never())
		await settled(clock, policy.execute(ask, { signal }))
		await settled(
			clock,
			policy.execute(async (context) => void context.signal, { signal }),
		)
		expect(added).toHaveBeenCalled()
		expect(removed).toHaveBeenCalledTimes(added.mock.calls.length)
		expect(clock.pendingTimers).toBe(0)
	})

	test('ends a wait no later than the deadline would', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 9 }), timeout(50))
		const deadline = Deadline.after(120, { runtime: clock })
		const result = await settled(clock, policy.execute(never, { deadline }))
		expect(result).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(clock.now()).toBe(50)
	})

	test("keeps the caller's async context for the next attempt", async () => {
		const clock = virtualRuntime()
		const storage = new AsyncLocalStorage<string>()
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), timeout(50))
		const seen: unknown[] = []
		const call = (who: string) =>
			storage.run(who, () =>
				policy.execute(({ attempt }) => {
					seen.push([attempt, storage.getStore()])
					return attempt === 0 ? never() : 'ok'
				}),
			)
		const both = Promise.all([call('ann'), call('bob')])
		await clock.runUntilIdle()
		await both
		expect(seen).toEqual([
			[0, 'ann'],
			[0, 'bob'],
			[1, 'ann'],
			[1, 'bob'],
		])
	})
})

describe('timeouts of equal length share one timer', () => {
	test('share one timer in virtual time', async () => {
		const clock = virtualRuntime()
		const policy = timeout(1_000, { runtime: clock })
		const twin = timeout(1_000, { runtime: clock })
		const calls = Array.from({ length: 100 }, (_, i) =>
			(i % 2 ? policy : twin).execute(never).catch(() => clock.now()),
		)
		await clock.advance(0)
		expect(clock.pendingTimers).toBe(1)
		await clock.runUntilIdle()
		expect(new Set(await Promise.all(calls))).toEqual(new Set([1_000]))
	})

	test('expire each at its own time', async () => {
		const clock = virtualRuntime()
		const policy = timeout(100, { runtime: clock })
		const ends: number[] = []
		for (let i = 0; i < 5; i++) {
			policy.execute(never).catch(() => ends.push(clock.now()))
			await clock.advance(30)
		}
		await clock.runUntilIdle()
		expect(ends).toEqual([100, 130, 160, 190, 220])
	})

	test('a timeout armed under fake timers does not break later real ones', async () => {
		vi.useFakeTimers()
		const policy = timeout(20)
		const faked = policy.execute(never).catch(() => 'never under the real clock')
		vi.useRealTimers()
		await expect(policy.execute(never)).rejects.toMatchObject({ name: 'TimeoutError' })
		void faked
	})

	test('fake timers find none left by settled calls', async () => {
		vi.useFakeTimers()
		await timeout(20).execute(() => 1)
		expect(vi.getTimerCount()).toBe(0)
		const late = timeout(20).execute(never)
		const outcome = expect(late).rejects.toMatchObject({ name: 'TimeoutError' })
		await vi.advanceTimersByTimeAsync(20)
		await outcome
		expect(vi.getTimerCount()).toBe(0)
		vi.useRealTimers()
	})
})
