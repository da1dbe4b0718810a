import { AsyncLocalStorage } from 'node:async_hooks'
import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	Deadline,
	DeadlineExceededError,
	explain,
	fallback,
	hedge,
	type Policy,
	pipeline,
	retry,
	type Settled,
	TimeoutError,
	timeout,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

/** An operation that ignores its signal. */
const deaf =
	(clock: VirtualRuntime, ms: number, end: unknown = 'done') =>
	() =>
		new Promise<unknown>((resolve, reject) => {
			clock.setTimer(ms, () => (end instanceof Error ? reject(end) : resolve(end)))
		})

/** Starts a call, and returns its outcome with the time at which it settled. */
async function outcome(
	clock: VirtualRuntime,
	call: Promise<Settled<unknown>>,
): Promise<{ at: number; settled: Settled<unknown> }> {
	let at = -1
	const settled = call.then((result) => {
		at = clock.now()
		return result
	})
	await clock.advance(10_000)
	return { settled: await settled, at }
}

const abortedAt = (clock: VirtualRuntime, ms: number, reason: unknown): AbortSignal => {
	const controller = new AbortController()
	clock.setTimer(ms, () => controller.abort(reason))
	return controller.signal
}

const policies: Readonly<Record<string, (runtime: VirtualRuntime) => Policy<unknown>>> = {
	'a timeout': (runtime) => timeout(2_000, { runtime }),
	'a retry around a timeout': (runtime) => pipeline({ runtime }, retry(), timeout(2_000)),
	'a timeout around a retry': (runtime) => pipeline({ runtime }, timeout(2_000), retry()),
	'two timeouts': (runtime) => pipeline({ runtime }, timeout(5_000), retry(), timeout(2_000)),
	'a hedge around a timeout': (runtime) => pipeline({ runtime }, hedge({ delayMs: 10 }), timeout(2_000)),
	'a timeout around a hedge': (runtime) => pipeline({ runtime }, timeout(2_000), hedge({ delayMs: 10 })),
}

describe.each(Object.entries(policies))('%s', (_, create) => {
	it("settles at the caller's abort with its reason, although the operation ignores its signal", async () => {
		// Regression: TimeoutError after 2 s, and with the retry even later.
		const clock = virtualRuntime()
		const reason = new Error('the user has left')
		const { stack } = reason
		const signal = abortedAt(clock, 50, reason)
		const { at, settled } = await outcome(clock, create(clock).settle(deaf(clock, 3_000), { signal }))
		expect(settled).toEqual({ ok: false, error: reason })
		expect(at).toBe(50)
		expect(reason.stack).toBe(stack)
		expect(explain(settled)?.stop).toBe('abort')
	})

	it('settles at the deadline', async () => {
		const clock = virtualRuntime()
		const deadline = Deadline.after(300, { runtime: clock })
		const { at, settled } = await outcome(clock, create(clock).settle(deaf(clock, 3_000), { deadline }))
		expect(settled).toMatchObject({ ok: false, error: expect.any(DeadlineExceededError) })
		expect(at).toBe(300)
		expect(explain(settled)?.stop).toBe('deadline')
	})

	it('keeps the result of an operation that ends before both', async () => {
		const clock = virtualRuntime()
		const deadline = Deadline.after(300, { runtime: clock })
		const signal = abortedAt(clock, 200, new Error('late'))
		const call = create(clock).settle(deaf(clock, 100), { deadline, signal })
		expect(await outcome(clock, call)).toEqual({ settled: { ok: true, value: 'done' }, at: 100 })
	})
})

describe('a timeout', () => {
	it('a call without a timeout settles with its operation, even after an abort', async () => {
		const clock = virtualRuntime()
		const signal = abortedAt(clock, 50, new Error('left'))
		const call = retry({ runtime: clock }).settle(deaf(clock, 3_000), { signal })
		expect(await outcome(clock, call)).toEqual({ settled: { ok: true, value: 'done' }, at: 3_000 })
	})

	it('fires before a later deadline, which needs no timer', async () => {
		const clock = virtualRuntime()
		const deadline = Deadline.after(5_000, { runtime: clock })
		const call = timeout(2_000, { runtime: clock }).settle(() => new Promise(() => {}), { deadline })
		await clock.advance(1)
		expect(clock.pendingTimers).toBe(1)
		const { at, settled } = await outcome(clock, call)
		expect(settled).toMatchObject({ ok: false, error: expect.any(TimeoutError) })
		expect(at).toBe(2_000)
	})

	it('an aborted operation keeps its bulkhead slot until it settles, and its rejection is handled', async () => {
		const clock = virtualRuntime()
		const slots = bulkhead({ maxConcurrent: 1, maxQueue: 0 })
		const policy = pipeline({ runtime: clock }, slots, retry(), timeout(2_000))
		const signal = abortedAt(clock, 50, new Error('left'))
		const call = policy.settle(deaf(clock, 3_000, new Error('late failure')), { signal })
		await clock.advance(100)
		expect((await call).ok).toBe(false)
		expect(slots.stats.concurrent).toBe(1)
		await clock.advance(3_000)
		expect(slots.stats.concurrent).toBe(0)
	})

	it('a fallback replaces the deadline error, but never the abort', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, fallback('other'), retry(), timeout(2_000))
		const deadline = Deadline.after(300, { runtime: clock })
		const expired = await outcome(clock, policy.settle(deaf(clock, 3_000), { deadline }))
		expect(expired).toEqual({ settled: { ok: true, value: 'other' }, at: 300 })
		const signal = abortedAt(clock, 50, 'left')
		const aborted = await outcome(clock, policy.settle(deaf(clock, 3_000), { signal }))
		expect(aborted.settled).toEqual({ ok: false, error: 'left' })
	})

	it('an abort does not count as a failure of the dependency', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const signal = abortedAt(clock, 50, new Error('left'))
		const call = pipeline({ runtime: clock }, breaker, timeout(2_000)).settle(deaf(clock, 3_000), { signal })
		await outcome(clock, call)
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0 })
	})

	it('aborts a signal that the operation reads only after the abort', async () => {
		const clock = virtualRuntime()
		const reason = new Error('left')
		let seen: unknown
		const call = timeout(2_000, { runtime: clock }).settle(
			(context) =>
				new Promise((resolve) => {
					clock.setTimer(100, () => {
						seen = context.signal.aborted && context.signal.reason
						resolve(1)
					})
				}),
			{ signal: abortedAt(clock, 50, reason) },
		)
		await outcome(clock, call)
		expect(seen).toBe(reason)
	})

	it('an operation that aborts the signal itself and stays pending ends the call', async () => {
		const clock = virtualRuntime()
		const controller = new AbortController()
		const call = timeout(2_000, { runtime: clock }).settle(
			() => {
				controller.abort('own')
				return new Promise(() => {})
			},
			{ signal: controller.signal },
		)
		expect(await outcome(clock, call)).toEqual({ settled: { ok: false, error: 'own' }, at: 0 })
	})

	it('leaves no listener and no timer behind', async () => {
		const clock = virtualRuntime()
		const { signal } = new AbortController()
		let listeners = 0
		const add = signal.addEventListener.bind(signal)
		const remove = signal.removeEventListener.bind(signal)
		signal.addEventListener = (...given: Parameters<typeof add>) => {
			listeners++
			add(...given)
		}
		signal.removeEventListener = (...given: Parameters<typeof remove>) => {
			listeners--
			remove(...given)
		}
		const policy = pipeline({ runtime: clock }, timeout(5_000), retry({ maxRetries: 2 }), timeout(50))
		for (const ms of [1, 100]) {
			const deadline = Deadline.after(4_000, { runtime: clock })
			const call = policy.settle(deaf(clock, ms), { signal, deadline })
			await clock.advance(20)
			if (ms === 100) expect(listeners).toBeGreaterThan(0)
			await outcome(clock, call)
		}
		expect(listeners).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})

	// A wait listened to the signal after an expired deadline had ended it, and nothing removed that listener.
	it('removes its listener if the deadline expires before a hedge waits for it', async () => {
		const clock = virtualRuntime()
		const { signal } = new AbortController()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 20 }), timeout(50))
		const call = policy.settle(deaf(clock, 1_000), {
			signal,
			deadline: Deadline.after(1, { runtime: clock }),
		})
		clock.runTimers(1)
		expect(await outcome(clock, call)).toMatchObject({
			settled: { error: expect.any(DeadlineExceededError) },
		})
		expect(getEventListeners(signal, 'abort')).toEqual([])
	})

	it("continues in the caller's async context after an abort", async () => {
		const storage = new AsyncLocalStorage<string>()
		const controller = new AbortController()
		const policy = timeout(60_000)
		const seen = storage.run('caller', async () => {
			await policy.settle(() => new Promise(() => {}), { signal: controller.signal })
			return storage.getStore()
		})
		await Promise.resolve()
		await Promise.resolve()
		storage.run('aborter', () => controller.abort())
		expect(await seen).toBe('caller')
	})
})
