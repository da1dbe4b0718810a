import { expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { WakeSignal } from '../../../src/outbox/relay/wake-signal.ts'

test('wake ends the wait and cancels its timer', async () => {
	const clock = virtualRuntime()
	const signal = new WakeSignal(clock)
	const waited = signal.wait(1_000)
	expect(clock.pendingTimers).toBe(1)
	signal.wake()
	expect(await waited).toBe(true)
	expect(clock.pendingTimers).toBe(0)
})

test('without a wake-up the wait lasts until its timeout', async () => {
	const clock = virtualRuntime()
	const waited = new WakeSignal(clock).wait(1_000)
	await clock.advance(1_000)
	expect(await waited).toBe(false)
})

test('a wake-up while nothing waits is remembered, once', async () => {
	const clock = virtualRuntime()
	const signal = new WakeSignal(clock)
	signal.wake()
	signal.wake()
	expect(await signal.wait(1_000)).toBe(true)
	const again = signal.wait(1_000)
	await clock.advance(1_000)
	expect(await again).toBe(false)
})

test('a wait of 0 ms sets no timer', async () => {
	const clock = virtualRuntime()
	expect(await new WakeSignal(clock).wait(0)).toBe(false)
	expect(clock.pendingTimers).toBe(0)
})

test('a wake-up after a timeout ends the next wait', async () => {
	const clock = virtualRuntime()
	const signal = new WakeSignal(clock)
	const first = signal.wait(10)
	await clock.advance(10)
	await first
	signal.wake()
	expect(await signal.wait(10)).toBe(true)
})
