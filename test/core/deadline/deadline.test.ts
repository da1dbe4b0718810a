import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Deadline, DeadlineExceededError } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

let clock: VirtualRuntime
const within = (ms: number) => Deadline.after(ms, { runtime: clock })
beforeEach(() => {
	clock = virtualRuntime()
})

describe('a deadline', () => {
	it.each([[5_000], ['5s'], [undefined]])('cannot be created with new Deadline(%s)', (given) => {
		// JavaScript: the types do not allow it.
		expect(() => Reflect.construct(Deadline, [given])).toThrow(
			expect.objectContaining({
				code: 'YAOKI_INVALID_ARGUMENT',
				argument: 'ms',
				received: given,
				expected: 'Deadline.after(ms) instead of new Deadline(ms)',
			}),
		)
	})

	it('returns the remaining time, at least 0', async () => {
		const deadline = within(100)
		expect([deadline.remainingMs, deadline.isExpired]).toEqual([100, false])
		await clock.advance(60)
		expect(deadline.remainingMs).toBe(40)
		await clock.advance(100)
		expect([deadline.remainingMs, deadline.isExpired]).toEqual([0, true])
	})

	it('is not moved by a jump of the wall clock', () => {
		const deadline = within(100)
		clock.jumpWallClock(3_600_000)
		expect(deadline.remainingMs).toBe(100)
	})

	it('returns a child that ends earlier, by 100 ms by default', () => {
		expect(within(500).child().remainingMs).toBe(400)
		expect(within(500).child(50).remainingMs).toBe(450)
		expect(within(500).child().child().remainingMs).toBe(300)
	})

	it('throws if no time is left for a child', () => {
		expect(() => within(100).child()).toThrow(DeadlineExceededError)
		expect(() => within(100).child()).toThrow('too little time left: 100 ms, with a margin of 100 ms')
		expect(within(101).child().remainingMs).toBe(1)
	})

	it('shouldRetry compares the remaining time with the estimate', async () => {
		const deadline = within(100)
		expect([deadline.shouldRetry(100), deadline.shouldRetry(101)]).toEqual([true, false])
		await clock.advance(100)
		expect(deadline.shouldRetry(0)).toBe(false)
	})

	it('aborts its signal at the deadline with a DeadlineExceededError', async () => {
		const { signal } = within(100)
		await clock.advance(99)
		expect(signal.aborted).toBe(false)
		await clock.advance(1)
		expect(signal.aborted).toBe(true)
		expect(signal.reason).toMatchObject({ name: 'DeadlineExceededError', code: 'YAOKI_DEADLINE_EXCEEDED' })
	})

	it('creates the signal and its timer once, when first read', () => {
		const deadline = within(100)
		expect(clock.pendingTimers).toBe(0)
		expect(deadline.signal).toBe(deadline.signal)
		expect(clock.pendingTimers).toBe(1)
	})

	it('returns an aborted signal after the deadline', async () => {
		const deadline = within(0)
		expect(deadline.signal.aborted).toBe(true)
		expect(() => deadline.throwIfExpired()).toThrow(DeadlineExceededError)
	})

	it('calls a listener at the deadline unless it was cancelled', async () => {
		const [listener, cancelled] = [vi.fn(), vi.fn()]
		within(50).onExpiry(listener)
		within(50).onExpiry(cancelled)()
		await clock.advance(50)
		expect(listener).toHaveBeenCalledExactlyOnceWith(expect.any(DeadlineExceededError))
		expect(cancelled).not.toHaveBeenCalled()
	})

	it.each([-1, Number.NaN, Infinity, '5'])('rejects %s', (ms) => {
		expect(() => Deadline.after(ms as number)).toThrow(
			/Invalid argument "ms": expected a finite number, 0 or more, got /,
		)
		expect(() => within(5).child(ms as number)).toThrow(/Invalid argument "marginMs": expected .*/)
	})
})

describe('in a header', () => {
	it('toHeader writes the remaining milliseconds, rounded down', async () => {
		const clock = virtualRuntime()
		const deadline = Deadline.after(1_500.7, { runtime: clock })
		expect(deadline.toHeader()).toBe('1500')
		await clock.advance(600)
		expect(deadline.toHeader()).toBe('900')
		await clock.advance(9_000)
		expect(deadline.toHeader()).toBe('0')
	})

	it('fromHeader restores the deadline on a machine with another wall clock', () => {
		const here = virtualRuntime()
		const there = virtualRuntime({ startAt: 0 })
		const received = Deadline.fromHeader(Deadline.after(1_500, { runtime: here }).toHeader(), {
			runtime: there,
		})
		expect(received?.remainingMs).toBe(1_500)
	})

	it('fromHeader limits the deadline to maxMs', () => {
		const runtime = virtualRuntime()
		expect(Deadline.fromHeader('999999999', { runtime, maxMs: 30_000 })?.remainingMs).toBe(30_000)
		expect(Deadline.fromHeader('20', { runtime, maxMs: 30_000 })?.remainingMs).toBe(20)
	})

	it.each([null, undefined, '', 'soon', '-1', '1.5', '1e3', '0x10', '12 34', 'NaN', '9'.repeat(16)])(
		'fromHeader returns undefined for %s',
		(value) => {
			expect(Deadline.fromHeader(value)).toBeUndefined()
		},
	)
})
