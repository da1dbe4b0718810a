import { expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { WakeSignal } from '../../../src/outbox/notify/wake-signal.ts'

test('whoever waits is woken by a ring, and its timer is gone', async () => {
	const clock = virtualRuntime()
	const bell = new WakeSignal(clock)
	const waited = bell.wait(1_000)
	expect(clock.pendingTimers).toBe(1)
	bell.ring()
	expect(await waited).toBe(true)
	expect(clock.pendingTimers).toBe(0)
})

test('without a ring it waits for its time', async () => {
	const clock = virtualRuntime()
	const waited = new WakeSignal(clock).wait(1_000)
	await clock.advance(1_000)
	expect(await waited).toBe(false)
})

test('a ring while nobody waits is kept, once', async () => {
	const clock = virtualRuntime()
	const bell = new WakeSignal(clock)
	bell.ring()
	bell.ring()
	expect(await bell.wait(1_000)).toBe(true)
	const again = bell.wait(1_000)
	await clock.advance(1_000)
	expect(await again).toBe(false)
})

test('no time to wait is no timer', async () => {
	const clock = virtualRuntime()
	expect(await new WakeSignal(clock).wait(0)).toBe(false)
	expect(clock.pendingTimers).toBe(0)
})

test('a ring after the time was over is for the next wait', async () => {
	const clock = virtualRuntime()
	const bell = new WakeSignal(clock)
	const first = bell.wait(10)
	await clock.advance(10)
	await first
	bell.ring()
	expect(await bell.wait(10)).toBe(true)
})
