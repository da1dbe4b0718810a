import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { sleep, withTimeout } from '../../../src/core/runtime/sleep.ts'

describe('sleep', () => {
	test('ends after its time', async () => {
		const runtime = virtualRuntime()
		const from = runtime.now()
		const over = sleep(runtime, 100).then(() => runtime.now())
		await runtime.advance(1_000)
		expect(await over).toBe(from + 100)
	})

	test('ends with the signal, and leaves no timer', async () => {
		const runtime = virtualRuntime()
		const controller = new AbortController()
		const over = sleep(runtime, 100, controller.signal)
		controller.abort()
		await over
		expect(runtime.pendingTimers).toBe(0)
	})

	test('does not begin with a signal that is aborted', async () => {
		const runtime = virtualRuntime()
		await sleep(runtime, 100, AbortSignal.abort())
		expect(runtime.pendingTimers).toBe(0)
	})
})

describe('withTimeout', () => {
	test('ends with the promise, and leaves no timer', async () => {
		const runtime = virtualRuntime()
		await withTimeout(runtime, 100, Promise.resolve())
		expect(runtime.pendingTimers).toBe(0)
	})

	test('ends after its time if the promise does not', async () => {
		const runtime = virtualRuntime()
		const over = withTimeout(runtime, 100, new Promise(() => {})).then(() => 'over')
		await runtime.advance(100)
		expect(await over).toBe('over')
	})

	test('bug: a promise that was rejected left its timer, which kept a process alive after the stop of a relay', async () => {
		const runtime = virtualRuntime()
		await expect(withTimeout(runtime, 100, Promise.reject(new Error('no database')))).rejects.toThrow(
			'no database',
		)
		expect(runtime.pendingTimers).toBe(0)
	})
})
