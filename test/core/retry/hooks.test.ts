import { inspect } from 'node:util'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { explain, type RetryOptions, retry, retryWithBackoff } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime()
})

describe('a decision hook', () => {
	const thrown = new Error('hook')
	const throwing: [string, RetryOptions][] = [
		[
			'shouldRetry',
			{
				shouldRetry: () => {
					throw thrown
				},
			},
		],
		[
			'delayFor',
			{
				delayFor: () => {
					throw thrown
				},
			},
		],
		[
			'retryResult',
			{
				retryResult: () => {
					throw thrown
				},
			},
		],
		[
			'classify',
			{
				classify: () => {
					throw thrown
				},
			},
		],
		[
			'growth',
			{
				growth: () => {
					throw thrown
				},
			},
		],
	]
	it.each(throwing)('%s may throw, which ends the call with its error', async (name, options) => {
		const work = name === 'retryResult' ? failing(clock) : dead(clock)
		expect(await settled(clock, retryWithBackoff(work, { ...steady, runtime: clock, ...options }))).toEqual({
			ok: false,
			error: thrown,
		})
		expect(work.attempts).toHaveLength(1)
		expect(explain(thrown)?.stop).toBe('hook-threw')
	})

	it('a decision hook that throws is not retried by an outer policy', async () => {
		const inner = retry({
			...steady,
			runtime: clock,
			shouldRetry: () => {
				throw thrown
			},
		})
		const work = dead(clock)
		expect(await settled(clock, inner.execute(work))).toEqual({ ok: false, error: thrown })
		expect(work.attempts).toHaveLength(1)
	})

	it.each(['shouldRetry', 'retryResult', 'delayFor', 'classify'])(
		'%s that returns a promise throws an error that says so',
		async (hook) => {
			const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
			const work = hook === 'retryResult' ? failing(clock) : dead(clock)
			const options = {
				...steady,
				runtime: clock,
				[hook]: async () => {
					throw new Error('late')
				},
			}
			const answer = await settled(clock, retryWithBackoff(work, options))
			expect(answer.ok === false && answer.error).toMatchObject({
				code: 'YAOKI_ASYNC_HOOK',
				message: `${hook} must be synchronous, but it returned a promise`,
			})
			expect(warn).toHaveBeenCalledWith(
				`yaoki: ${hook} failed:`,
				expect.objectContaining({ message: 'late' }),
			)
		},
	)
})

describe('a notification hook', () => {
	it.each([
		[
			'throws',
			() => {
				throw new Error('log is down')
			},
		],
		['rejects', () => Promise.reject(new Error('log is down'))],
	])('that %s has no effect but a console warning', async (_, onRetry) => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const answer = await settled(
			clock,
			retryWithBackoff(failing(clock, new Error('x')), { ...steady, runtime: clock, onRetry }),
		)
		expect(answer).toEqual({ ok: true, value: 'ok' })
		expect(warn).toHaveBeenCalledWith(
			'yaoki: onRetry failed:',
			expect.objectContaining({ message: 'log is down' }),
		)
	})

	// console.warn threw, and its error ended the call or, in a promise, the process.
	it.each([
		[
			'throws',
			(error: unknown) => () => {
				throw error
			},
		],
		['rejects with', (error: unknown) => () => Promise.reject(error)],
	])('that %s an error that cannot be read has no effect either', async (_, hookOf) => {
		// As Node's own, but silent.
		const warn = vi.spyOn(console, 'warn').mockImplementation((...texts) => void inspect(texts))
		const unreadable = {
			[inspect.custom]() {
				throw new Error('no text')
			},
		}
		const onRetry = hookOf(unreadable)
		const options = { ...steady, runtime: clock, onRetry }
		const answer = await settled(clock, retryWithBackoff(failing(clock, new Error('x')), options))
		expect(answer).toEqual({ ok: true, value: 'ok' })
		expect(warn).toHaveBeenLastCalledWith('yaoki: onRetry failed:', 'its error cannot be read')
	})
})
