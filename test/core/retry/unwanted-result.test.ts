/** Retries because of a result, not of an error. */
import { describe, expect, test, vi } from 'vitest'
import { explain, InvalidOptionError, pipeline, retry, retryWithBackoff, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { settled, steady } from '../../support/scenario.ts'

const isPending = (value: unknown): boolean => value === 'pending'

describe('the hooks of a retry', () => {
	test('receive the unwanted result as the last argument, and no error', async () => {
		const clock = virtualRuntime()
		const delayFor = vi.fn(() => 50)
		const onRetry = vi.fn()
		const policy = retry({ retryResult: isPending, delayFor, onRetry, runtime: clock })
		const states = ['pending', 'pending', 'done']
		expect(
			await settled(
				clock,
				policy.execute(({ attempt }) => states[attempt]),
			),
		).toEqual({ ok: true, value: 'done' })
		expect(delayFor.mock.calls).toEqual([
			[undefined, 0, { result: 'pending' }],
			[undefined, 1, { result: 'pending' }],
		])
		expect(onRetry.mock.calls).toEqual([
			[undefined, 1, 50, { result: 'pending' }],
			[undefined, 2, 50, { result: 'pending' }],
		])
	})

	test('receive no result after an error', async () => {
		const clock = virtualRuntime()
		const delayFor = vi.fn(() => undefined)
		const onRetry = vi.fn()
		const down = new Error('down')
		const policy = retry({
			...steady,
			maxRetries: 1,
			retryResult: isPending,
			delayFor,
			onRetry,
			runtime: clock,
		})
		await settled(
			clock,
			policy.execute(() => Promise.reject(down)),
		)
		expect(delayFor.mock.calls).toEqual([[down, 0]])
		expect(onRetry.mock.calls).toEqual([[down, 1, 100]])
	})

	test('can read the delay from the result', async () => {
		const clock = virtualRuntime()
		const job = { isDone: false, pollAfterMs: 700 }
		const waits: number[] = []
		await settled(
			clock,
			retryWithBackoff(() => job, {
				maxRetries: 1,
				retryResult: ({ isDone }) => !isDone,
				delayFor: (_, __, unwanted?: { result: typeof job }) => unwanted?.result.pollAfterMs,
				onRetry: (_, __, delayMs) => waits.push(delayMs),
				runtime: clock,
			}),
		)
		expect(waits).toEqual([700])
	})
})

describe('an invalid delay from delayFor', () => {
	test.each([-1, Number.NaN, Infinity])(
		'of %s has the error of the operation as its cause',
		async (delay) => {
			const clock = virtualRuntime()
			const down = new Error('down')
			const policy = retry({ delayFor: () => delay, runtime: clock })
			const result = await settled(
				clock,
				policy.execute(() => Promise.reject(down)),
			)
			expect(result).toEqual({ ok: false, error: expect.any(InvalidOptionError) })
			expect(result).toMatchObject({ error: { optionPath: 'delay (delay-for)', received: delay } })
			expect(!result.ok && (result.error as Error).cause).toBe(down)
		},
	)
})

describe('a caller that aborts while the result is not wanted gets its abort', () => {
	const reason = new Error('the user left')

	test.each(['in the wait', 'during the operation', 'in retryResult', 'in onRetry'])('%s', async (when) => {
		const clock = virtualRuntime()
		let controller = new AbortController()
		const abortIf = (now: string) => {
			if (now === when) controller.abort(reason)
		}
		const operation = vi.fn(async () => {
			abortIf('during the operation')
			return 'pending'
		})
		const inner = retry({
			...steady,
			retryResult: (value) => {
				abortIf('in retryResult')
				return isPending(value)
			},
			onRetry: () => abortIf('in onRetry'),
		})
		for (const policy of [
			pipeline({ runtime: clock }, inner),
			pipeline({ runtime: clock }, inner, timeout(5_000)),
		]) {
			operation.mockClear()
			controller = new AbortController()
			const result = policy.settle(operation, { signal: controller.signal })
			if (when === 'in the wait') clock.setTimer(50, () => controller.abort(reason))
			await clock.runUntilIdle()
			expect(await result).toEqual({ ok: false, error: reason })
			expect(explain(await result)?.stop).toBe('abort')
			expect(operation.mock.calls.length).toBeLessThan(2)
		}
	})

	test('gets its abort after the last attempt too', async () => {
		const controller = new AbortController()
		const policy = retry({ maxRetries: 0, retryResult: isPending })
		const operation = () => {
			controller.abort(reason)
			return 'pending'
		}
		expect(await policy.settle(operation, { signal: controller.signal })).toEqual({
			ok: false,
			error: reason,
		})
	})

	test('gets the result if it is wanted', async () => {
		const controller = new AbortController()
		const policy = retry({ retryResult: isPending })
		const operation = () => {
			controller.abort(reason)
			return 'done'
		}
		expect(await policy.settle(operation, { signal: controller.signal })).toEqual({ ok: true, value: 'done' })
	})
})
