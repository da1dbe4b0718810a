import { describe, expect, it } from 'vitest'
import { explain, HttpError, type RetryOptions, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

/** Runs a call whose operation fails with this error once, or always, and returns when its attempts started. */
async function attemptsOf(error: unknown, options: RetryOptions, failures = Infinity): Promise<number[]> {
	const runtime = virtualRuntime()
	const startedAt: number[] = []
	const call = retry({ ...options, runtime }).settle(() => {
		startedAt.push(runtime.now())
		if (startedAt.length <= failures) throw error
	})
	await runtime.advance(3_600_000)
	await call
	return startedAt
}

const gaps = (times: readonly number[]): number[] => times.slice(1).map((time, n) => time - (times[n] ?? 0))

const busy = (value: string) =>
	Object.assign(new Error('busy'), { status: 503, headers: new Headers({ 'Retry-After': value }) })

describe('Retry-After', () => {
	it('a thousand callers with the same Retry-After are spread over a quarter of it', async () => {
		// Regression: all of them returned in the same millisecond.
		const runtime = virtualRuntime()
		const policy = retry({ runtime })
		const returnedAt: number[] = []
		const calls = Array.from({ length: 1_000 }, () =>
			policy.execute(({ attempt }) => {
				if (attempt === 0) throw new HttpError(503, undefined, { retryAfterMs: 10_000 })
				returnedAt.push(runtime.now())
			}),
		)
		await runtime.advance(12_500)
		await Promise.all(calls)
		expect(returnedAt).toHaveLength(1_000)
		expect(Math.min(...returnedAt)).toBeGreaterThanOrEqual(10_000)
		const perTenth = Array.from({ length: 10 }, (_, n) => {
			const from = 10_000 + n * 250
			return returnedAt.filter((at) => at >= from && at < from + 250).length
		})
		expect(Math.max(...perTenth)).toBeLessThan(150)
		expect(Math.min(...perTenth)).toBeGreaterThan(50)
	})

	it('a short one is spread over 100 ms', async () => {
		const [gap = 0] = gaps(await attemptsOf(new HttpError(429, '', { retryAfterMs: 10 }), {}, 1))
		expect(gap).toBeGreaterThanOrEqual(10)
		expect(gap).toBeLessThan(110)
	})

	it.each(['0', 'Sun, 06 Nov 1994 08:49:37 GMT'])('%s names no wait: the backoff applies', async (value) => {
		// Regression: 0 gave 1,001 attempts in 1.8 s, and a date in the past 21 attempts in 34 ms.
		const options = { maxRetries: 4, jitterStrategy: 'none' } as const
		expect(gaps(await attemptsOf(busy(value), options))).toEqual([1_000, 2_000, 4_000, 8_000])
	})

	it('0 continues a decorrelated backoff, and explain names the backoff', async () => {
		const error = busy('0')
		const options = { maxRetries: 5, baseDelayMs: 500, jitterStrategy: 'decorrelated' } as const
		const waits = gaps(await attemptsOf(error, options))
		expect(Math.min(...waits)).toBeGreaterThanOrEqual(500)
		expect(explain(error)?.attempts[0]?.delaySource).toBe('backoff')
	})

	it('delayFor is exact, 0 included', async () => {
		const waits = [0, 700]
		const options = { maxRetries: 2, delayFor: (_: unknown, attempt: number) => waits[attempt] }
		expect(gaps(await attemptsOf(new HttpError(503, '', { retryAfterMs: 9_000 }), options))).toEqual(waits)
	})
})
