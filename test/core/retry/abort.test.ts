import { getEventListeners } from 'node:events'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Deadline, explain, retry, retryWithBackoff } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
let caller: AbortController
beforeEach(() => {
	clock = virtualRuntime()
	caller = new AbortController()
})
const listeners = () => getEventListeners(caller.signal, 'abort').length
const reason = new Error('the user left')

describe("the caller's abort", () => {
	it("the caller's abort during a backoff wait ends the call immediately with the reason, and runs nothing again", async () => {
		const work = dead(clock)
		const answer = retryWithBackoff(work, { ...steady, runtime: clock, signal: caller.signal })
		await clock.advance(50)
		caller.abort(reason)
		await expect(answer).rejects.toBe(reason)
		expect(clock.now()).toBe(50)
		await clock.advance(10_000)
		expect(work.attempts).toEqual([0])
	})

	it('leaves no timer and no listener', async () => {
		const answer = retryWithBackoff(dead(clock), { ...steady, runtime: clock, signal: caller.signal })
		await clock.advance(50)
		expect([listeners(), clock.pendingTimers]).toEqual([1, 1])
		caller.abort(reason)
		await expect(answer).rejects.toBe(reason)
		expect([listeners(), clock.pendingTimers]).toEqual([0, 0])
	})

	it("the caller's abort before the call runs nothing", async () => {
		caller.abort(reason)
		const work = vi.fn()
		await expect(retryWithBackoff(work, { signal: caller.signal })).rejects.toBe(reason)
		expect(work).not.toHaveBeenCalled()
		expect(explain(reason)).toMatchObject({ stop: 'abort', attempts: [] })
	})

	it("the caller's abort during an attempt stops the retries, and the operation's own error is thrown", async () => {
		const fault = new Error('cut off')
		const work = vi.fn(async () => {
			caller.abort(reason)
			throw fault
		})
		const answer = await settled(
			clock,
			retryWithBackoff(work, { ...steady, runtime: clock, signal: caller.signal }),
		)
		expect(answer).toEqual({ ok: false, error: fault })
		expect(work).toHaveBeenCalledOnce()
		expect(explain(fault)).toMatchObject({ stop: 'abort', attempts: [{ outcome: 'cancelled' }] })
	})

	it("wins over a user's shouldRetry", async () => {
		const work = vi.fn(async () => {
			caller.abort(reason)
			throw caller.signal.reason
		})
		const options = { ...steady, runtime: clock, signal: caller.signal, shouldRetry: () => true }
		expect(await settled(clock, retryWithBackoff(work, options))).toEqual({ ok: false, error: reason })
		expect(work).toHaveBeenCalledOnce()
	})

	it("the caller's abort by a hook just before the wait is not missed", async () => {
		const work = dead(clock)
		const onRetry = () => caller.abort(reason)
		const answer = await settled(
			clock,
			retryWithBackoff(work, { ...steady, runtime: clock, signal: caller.signal, onRetry }),
		)
		expect(answer).toEqual({ ok: false, error: reason })
		expect([work.attempts, clock.now(), listeners()]).toEqual([[0], 0, 0])
	})

	it("the caller's abort after a successful attempt does not discard the result", async () => {
		const answer = retryWithBackoff(
			async () => {
				caller.abort(reason)
				return 'done'
			},
			{ signal: caller.signal },
		)
		await expect(answer).resolves.toBe('done')
	})

	it("an AbortError without the caller's abort is retried", async () => {
		const work = failing(clock, new DOMException('aborted', 'AbortError'))
		expect(
			await settled(clock, retryWithBackoff(work, { ...steady, runtime: clock, signal: caller.signal })),
		).toEqual({ ok: true, value: 'ok' })
	})
})

describe("the operation's signal", () => {
	it("is the caller's own if nothing else can abort the call", async () => {
		await retryWithBackoff(({ signal }) => expect(signal).toBe(caller.signal), { signal: caller.signal })
	})

	it('is created only when it is read', async () => {
		const made = vi.spyOn(globalThis, 'AbortController')
		const policy = retry({ runtime: clock })
		await policy.execute(() => 1)
		await policy.execute(() => 1, { deadline: Deadline.after(10, { runtime: clock }) })
		expect(made).not.toHaveBeenCalled()
		await policy.execute(({ signal }) => expect(signal.aborted).toBe(false))
		expect(made).toHaveBeenCalledOnce()
	})

	it('is aborted by the caller and by the deadline, each with its own reason', async () => {
		const deadline = Deadline.after(1000, { runtime: clock })
		const answer = retryWithBackoff(
			({ signal }) =>
				new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
			{ runtime: clock, signal: caller.signal, deadline },
		)
		caller.abort(reason)
		expect(await settled(clock, answer)).toEqual({ ok: false, error: reason })
		expect([listeners(), clock.pendingTimers]).toEqual([0, 0])
	})

	it('is not aborted after success, and leaves nothing behind', async () => {
		const deadline = Deadline.after(1000, { runtime: clock })
		let seen: AbortSignal | undefined
		await retryWithBackoff(({ signal }) => (seen = signal), {
			runtime: clock,
			signal: caller.signal,
			deadline,
		})
		expect([listeners(), clock.pendingTimers]).toEqual([0, 0])
		await clock.advance(5000)
		caller.abort()
		expect(seen?.aborted).toBe(false)
	})

	it('a thousand failing and aborted calls leave no listener on a long-lived signal', async () => {
		const policy = retry({ ...steady, runtime: clock, maxRetries: 1 })
		const shared = new AbortController()
		const calls = Array.from({ length: 1_000 }, (_, i) => {
			const deadline = i % 3 === 0 ? Deadline.after(150, { runtime: clock }) : undefined
			return policy.settle(
				async ({ signal }) => {
					if (i % 2 === 0) signal.throwIfAborted()
					throw new Error('x')
				},
				{ signal: shared.signal, deadline },
			)
		})
		await clock.advance(50)
		expect(getEventListeners(shared.signal, 'abort').length).toBeGreaterThanOrEqual(1_000)
		await clock.runUntilIdle()
		await Promise.all(calls)
		expect(getEventListeners(shared.signal, 'abort').length).toBe(0)
		expect(clock.pendingTimers).toBe(0)
	})
})
