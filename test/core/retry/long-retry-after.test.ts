import { describe, expect, it, vi } from 'vitest'
import { explain, HttpError, type RetryOptions, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

/** Runs a retry whose operation always fails with this wait, and returns the delays of the retry. */
async function delaysFor(retryAfterMs: number, options: RetryOptions = {}) {
	const runtime = virtualRuntime()
	// No jitter.
	vi.spyOn(runtime, 'random').mockReturnValue(0)
	const delays: number[] = []
	const error = new HttpError(503, undefined, { retryAfterMs })
	const policy = retry({ ...options, runtime, onRetry: (_, _attempt, delayMs) => delays.push(delayMs) })
	const settled = policy.settle(() => {
		throw error
	})
	await runtime.advance(4 * retryAfterMs)
	expect(await settled).toEqual({ ok: false, error })
	return { delays, stop: explain(error)?.stop }
}

describe('maxRetryAfterMs', () => {
	it('a wait of up to a minute is made by default', async () => {
		expect(await delaysFor(60_000)).toEqual({ delays: [60_000, 60_000, 60_000], stop: 'retries-exhausted' })
	})

	it('a longer wait ends the call with its error, and explain says retry-after', async () => {
		expect(await delaysFor(60_001)).toEqual({ delays: [], stop: 'retry-after' })
		expect(await delaysFor(3_600_000)).toEqual({ delays: [], stop: 'retry-after' })
	})

	it('a wait that the error asks for is also made with a classifier that does not name it', async () => {
		const classify = () => ({ kind: 'transient', isKnown: true }) as const
		expect((await delaysFor(5_000, { classify, maxRetries: 1 })).delays).toEqual([5_000])
	})

	it('can be raised and lowered', async () => {
		expect((await delaysFor(3_600_000, { maxRetryAfterMs: 3_600_000, maxRetries: 1 })).delays).toEqual([
			3_600_000,
		])
		expect(await delaysFor(2_000, { maxRetryAfterMs: 1_999 })).toEqual({ delays: [], stop: 'retry-after' })
	})

	it('does not limit delayFor or the backoff', async () => {
		const { delays } = await delaysFor(90_000, { delayFor: () => 80_000, maxRetries: 1 })
		expect(delays).toEqual([80_000])
	})

	it.each([-1, Infinity, Number.NaN, '60'])('%s is rejected', (maxRetryAfterMs) => {
		expect(() => retry({ maxRetryAfterMs: maxRetryAfterMs as number })).toThrow(
			'Invalid option "maxRetryAfterMs": expected a finite number, 0 or more',
		)
	})
})
