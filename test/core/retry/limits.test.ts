import { beforeEach, describe, expect, it } from 'vitest'
import { Deadline, DeadlineExceededError, explain, type Runtime, retryWithBackoff } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, settled, steady, taking } from '../../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime()
})
const down = new Error('down')
const within = (ms: number) => Deadline.after(ms, { runtime: clock })

describe('no attempt starts that cannot finish', () => {
	it('a wait that would pass maxElapsedMs is not started: the call ends now, with the last error', async () => {
		const work = dead(clock, down)
		const answer = await settled(
			clock,
			retryWithBackoff(work, { ...steady, runtime: clock, maxElapsedMs: 699 }),
		)
		expect(answer).toEqual({ ok: false, error: down })
		expect(work.startedAt).toEqual([0, 100, 300])
		expect(clock.now()).toBe(300)
	})

	it('an attempt may start exactly at maxElapsedMs', async () => {
		const work = dead(clock, down)
		await settled(clock, retryWithBackoff(work, { ...steady, runtime: clock, maxElapsedMs: 700 }))
		expect(work.startedAt).toEqual([0, 100, 300, 700])
	})

	it('attempts count toward maxElapsedMs like waits', async () => {
		const answer = retryWithBackoff(taking(clock, 500, down), {
			...steady,
			runtime: clock,
			maxElapsedMs: 1000,
			maxRetries: 9,
		})
		await settled(clock, answer)
		expect(explain(down)).toMatchObject({
			stop: 'elapsed-limit',
			attempts: [{ startMs: 0 }, { startMs: 600 }],
			durationMs: 1100,
		})
	})

	it('a wait that would pass the deadline is not started: the call ends now, with the last error', async () => {
		const work = dead(clock, down)
		const answer = await settled(
			clock,
			retryWithBackoff(work, { ...steady, runtime: clock, deadline: within(700) }),
		)
		expect(answer).toEqual({ ok: false, error: down })
		expect(work.startedAt).toEqual([0, 100, 300])
		expect(clock.now()).toBe(300)
	})

	it('a deadline that expired before the first attempt throws DeadlineExceededError and calls nothing', async () => {
		const deadline = within(10)
		await clock.advance(10)
		const work = dead(clock, down)
		const answer = await settled(clock, retryWithBackoff(work, { runtime: clock, deadline }))
		expect(answer.ok === false && answer.error).toBeInstanceOf(DeadlineExceededError)
		expect(work.attempts).toEqual([])
		expect(explain(answer.ok ? undefined : answer.error)).toMatchObject({ stop: 'deadline', attempts: [] })
	})

	it('a late timer does not start an attempt past the limit', async () => {
		const late = (ms: number, fn: () => void) => clock.setTimer(ms * 10, fn)
		const lazy: Runtime = {
			now: () => clock.now(),
			wallNow: () => clock.wallNow(),
			random: clock.random,
			setTimer: late,
		}
		for (const limit of [() => ({ maxElapsedMs: 500 }), () => ({ deadline: within(500) })]) {
			const work = dead(clock, down)
			const answer = await settled(clock, retryWithBackoff(work, { ...steady, runtime: lazy, ...limit() }))
			expect(answer).toEqual({ ok: false, error: down })
			expect(work.attempts).toEqual([0])
		}
	})

	it('the operation sees the deadline, and its signal is aborted when it expires', async () => {
		const deadline = within(250)
		const reasons: unknown[] = []
		const answer = retryWithBackoff(
			({ signal, deadline: seen }) =>
				new Promise((_, reject) => {
					expect(seen).toBe(deadline)
					signal.addEventListener('abort', () => {
						reasons.push(signal.reason)
						reject(signal.reason)
					})
				}),
			{ ...steady, runtime: clock, deadline },
		)
		const outcome = await settled(clock, answer)
		expect(clock.now()).toBe(250)
		expect(reasons).toEqual([expect.any(DeadlineExceededError)])
		expect(outcome.ok === false && outcome.error).toBe(reasons[0])
		expect(explain(reasons[0])).toMatchObject({ stop: 'deadline', attempts: [{ outcome: 'cancelled' }] })
	})
})
