import fc from 'fast-check'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { type CallContext, HttpError, permanent, type RetryOptions, retry, retryWithBackoff } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady } from '../../support/scenario.ts'

let clock: VirtualRuntime
beforeEach(() => {
	clock = virtualRuntime({ seed: 7 })
})
const run = <T>(fn: (context: CallContext) => T, options: RetryOptions = {}) =>
	settled(clock, retryWithBackoff(fn, { ...steady, runtime: clock, ...options }))

describe('how often', () => {
	it('one call for an immediate success', async () => {
		const work = failing(clock)
		expect(await settled(clock, retryWithBackoff(work, { runtime: clock }))).toEqual({
			ok: true,
			value: 'ok',
		})
		expect(work.attempts).toEqual([0])
	})

	it('maxRetries counts retries after the first attempt: the default 3 makes at most 4 attempts', async () => {
		const work = dead(clock)
		await settled(clock, retryWithBackoff(work, { ...steady, runtime: clock }))
		expect(work.attempts).toEqual([0, 1, 2, 3])
		expect(work.startedAt).toEqual([0, 100, 300, 700])
	})

	it('maxRetries 0 makes no retries', async () => {
		const work = dead(clock)
		await settled(clock, retryWithBackoff(work, { maxRetries: 0, runtime: clock }))
		expect(work.attempts).toEqual([0])
	})

	it('never makes more than maxRetries + 1 attempts, and always ends', async () => {
		const options = fc.record({
			maxRetries: fc.nat(12),
			baseDelayMs: fc.nat(1000),
			maxDelayMs: fc.integer({ min: 1000, max: 100_000 }),
			jitterStrategy: fc.constantFrom('none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'),
			maxElapsedMs: fc.option(fc.nat(50_000), { nil: undefined }),
		} as const)
		await fc.assert(
			fc.asyncProperty(options, fc.nat(20), async (o, failures) => {
				const virtual = virtualRuntime()
				const work = failing(virtual, ...new Array<Error>(failures).fill(new Error('x')))
				const answer = await settled(virtual, retryWithBackoff(work, { ...o, runtime: virtual }))
				expect(work.attempts.length).toBeLessThanOrEqual(o.maxRetries + 1)
				if (o.maxElapsedMs === undefined) expect(answer.ok).toBe(failures <= o.maxRetries)
				expect(virtual.pendingTimers).toBe(0)
			}),
			{ numRuns: 150 },
		)
	})

	it('maxRetries Infinity ends at maxElapsedMs', async () => {
		const work = dead(clock)
		await settled(
			clock,
			retryWithBackoff(work, {
				...steady,
				growth: 'constant',
				maxRetries: Infinity,
				maxElapsedMs: 1000,
				runtime: clock,
			}),
		)
		expect(work.startedAt.at(-1)).toBe(1000)
		expect(work.attempts).toHaveLength(11)
	})
})

describe('what is thrown', () => {
	it('the last error itself, neither a wrapper nor the first error', async () => {
		const last = new Error('last')
		const answer = await run(failing(clock, new Error('first'), last, new Error('never reached')), {
			maxRetries: 1,
		})
		expect(answer).toEqual({ ok: false, error: last })
		expect(answer.ok === false && answer.error).toBe(last)
	})

	it.each([undefined, null, 0, '', 'text', Symbol('s'), 7n, Object.create(null), () => 1])(
		'a thrown non-error unchanged (%s)',
		async (thrown) => {
			const work = failing(clock, thrown, thrown)
			const answer = await run(work, { maxRetries: 1 })
			expect(answer.ok).toBe(false)
			expect(answer.ok === false && answer.error).toBe(thrown)
			expect(work.attempts).toHaveLength(2)
		},
	)

	it('a synchronous throw is retried like a rejection', async () => {
		let calls = 0
		const answer = await run(() => {
			if (++calls < 3) throw new Error('sync')
			return 'ok'
		})
		expect(answer).toEqual({ ok: true, value: 'ok' })
		expect(calls).toBe(3)
	})
})

describe('what is returned', () => {
	it.each([undefined, null, 0, false, ''])('a falsy result is a result (%s)', async (value) => {
		expect(await run(() => value)).toEqual({ ok: true, value })
	})

	it('a thenable is awaited, and retried if it rejects', async () => {
		let calls = 0
		class Later implements PromiseLike<string> {
			// biome-ignore lint/suspicious/noThenProperty: a thenable that is no promise is the subject.
			then: PromiseLike<string>['then'] = (ok, bad) => {
				if (++calls < 2) bad?.(new Error('x'))
				else ok?.('late')
				return Promise.reject(new Error('not used')).catch(() => undefined) as never
			}
		}
		const thenable = new Later()
		expect(await run(() => thenable)).toEqual({ ok: true, value: 'late' })
		expect(calls).toBe(2)
	})

	it('an operation that is not a function is rejected by name', async () => {
		await expect(retryWithBackoff(undefined as never)).rejects.toThrow(
			'Invalid argument "fn": expected a function, got undefined',
		)
	})

	it('fn is called before execute returns', () => {
		const fn = vi.fn(() => 'now')
		const promise = retry({ runtime: clock }).execute(fn)
		expect(fn).toHaveBeenCalledOnce()
		return expect(promise).resolves.toBe('now')
	})
})

/** Expects a wait of this long plus jitter: up to a quarter, and at least up to 100 ms. */
function expectJittered(waitMs: number | undefined, askedMs: number): void {
	expect(waitMs).toBeGreaterThan(askedMs)
	expect(waitMs).toBeLessThan(askedMs + Math.max(100, askedMs / 4))
}

describe('what is retried', () => {
	it('does not retry permanent errors: a client error, a programming error, an error marked by the user', async () => {
		for (const error of [
			new HttpError(404),
			new TypeError('x is not a function'),
			permanent(new Error('sold out')),
		]) {
			const work = failing(clock, error)
			expect(await run(work)).toEqual({ ok: false, error })
			expect(work.attempts).toHaveLength(1)
		}
	})

	it('unknown errors: a user who adds a retry expects failures to be temporary', async () => {
		expect(await run(failing(clock, new Error('never seen before')))).toEqual({ ok: true, value: 'ok' })
	})

	it('shouldRetry overrides permanent in both directions, and counts from 0', async () => {
		const seen: unknown[] = []
		const work = failing(clock, new HttpError(404), new HttpError(404))
		const answer = await run(work, {
			shouldRetry: (error, attempt) => {
				seen.push([error, attempt])
				return attempt < 1
			},
		})
		expect(answer.ok).toBe(false)
		expect(seen).toEqual([
			[expect.any(HttpError), 0],
			[expect.any(HttpError), 1],
		])
	})

	it("the toolkit's own rejections are not retried, unless shouldRetry says so", async () => {
		const rejection = Object.assign(new Error('open'), { code: 'YAOKI_CIRCUIT_OPEN' })
		expect(await run(failing(clock, rejection))).toEqual({ ok: false, error: rejection })
		expect(await run(failing(clock, rejection), { shouldRetry: () => true })).toEqual({
			ok: true,
			value: 'ok',
		})
	})

	it("a user's classify decides first and may call the next one", async () => {
		const work = failing(clock, new Error('E-42'), new HttpError(404))
		const answer = await run(work, {
			classify: (error, next) =>
				String(error).includes('E-42')
					? { kind: 'throttled', isKnown: true, retryAfterMs: 5000 }
					: next(error),
		})
		expect(answer.ok).toBe(false)
		expect(work.startedAt).toHaveLength(2)
		expectJittered(work.startedAt[1], 5_000)
	})
})

describe('unwanted results', () => {
	it('are retried if retryResult returns true, attempts from 0', async () => {
		const attempts: number[] = []
		let calls = 0
		const answer = await run(() => ++calls, {
			retryResult: (value, attempt) => {
				attempts.push(attempt)
				return Number(value) < 3
			},
		})
		expect(answer).toEqual({ ok: true, value: 3 })
		expect(attempts).toEqual([0, 1, 2])
	})

	it('may be declared with their type', async () => {
		const poll = async () => ({ status: 'done' as 'done' | 'pending' })
		const isPending = (job: { status: string }) => job.status === 'pending'
		expect(await retryWithBackoff(poll, { retryResult: (job) => isPending(job) })).toEqual({ status: 'done' })
		expect(await retry({ retryResult: isPending }).execute(poll)).toEqual({ status: 'done' })
	})

	it('the last one is returned when the retries are exhausted', async () => {
		let calls = 0
		expect(await run(() => ++calls, { retryResult: () => true, maxRetries: 2 })).toEqual({
			ok: true,
			value: 3,
		})
	})

	it('mix with errors in one call', async () => {
		const work = failing(clock, new Error('x'))
		let results = 0
		const answer = await run(async () => `${await work({ attempt: 0 } as never)} ${++results}`, {
			retryResult: (value) => value === 'ok 1',
		})
		expect(answer).toEqual({ ok: true, value: 'ok 2' })
	})
})

describe('the delay', () => {
	it("is the server's Retry-After with jitter on top", async () => {
		const work = failing(clock, new HttpError(429, undefined, { retryAfterMs: 4000 }))
		await run(work)
		expectJittered(work.startedAt[1], 4_000)
	})

	it("is the error's retryAfterMs if nothing else is known about it", async () => {
		const work = failing(clock, Object.assign(new Error('busy'), { retryAfterMs: 1234 }))
		await run(work)
		expectJittered(work.startedAt[1], 1_234)
	})

	it('a Retry-After wait is not the previous delay of decorrelated jitter', async () => {
		const asked = new HttpError(429, undefined, { retryAfterMs: 60_000 })
		const work = failing(clock, asked, new Error('x'))
		await run(work, { jitterStrategy: 'decorrelated', baseDelayMs: 100, maxDelayMs: 100_000 })
		expect((work.startedAt[2] ?? 0) - (work.startedAt[1] ?? 0)).toBeLessThanOrEqual(300)
	})

	it('decorrelated jitter continues from the previous backoff delay', async () => {
		const random = vi.spyOn(clock, 'random').mockReturnValue(0.5)
		const work = dead(clock)
		await run(work, { jitterStrategy: 'decorrelated', maxRetries: 3 })
		expect(random).toHaveBeenCalledTimes(3)
		expect(work.startedAt).toEqual([0, 200, 550, 1125])
	})

	it('delayFor wins over both; undefined keeps the backoff', async () => {
		const work = failing(clock, new HttpError(429, undefined, { retryAfterMs: 9000 }), new Error('b'))
		await run(work, { delayFor: (_, attempt) => (attempt === 0 ? 50 : undefined) })
		expect(work.startedAt).toEqual([0, 50, 250])
	})

	it.each([Number.NaN, -1, Infinity, 'soon'])(
		'a delayFor of %s ends the call with an error that says so',
		async (delay) => {
			const answer = await run(dead(clock), { delayFor: () => delay as number })
			expect(answer.ok === false && String(answer.error)).toContain('Invalid option "delay (delay-for)"')
		},
	)

	it('a growth function that returns NaN ends the call with an error that says so', async () => {
		const answer = await run(dead(clock), { growth: () => Number.NaN })
		expect(answer.ok === false && String(answer.error)).toMatch(
			/Invalid option "growth\(attempt\)": expected .*, got NaN/,
		)
	})

	it('onRetry is called before it with the error, the attempt from 1 and the delay', async () => {
		const onRetry = vi.fn()
		const [a, b] = [new Error('a'), new Error('b')]
		await run(failing(clock, a, b), { onRetry })
		expect(onRetry.mock.calls).toEqual([
			[a, 1, 100],
			[b, 2, 200],
		])
	})

	it('waits completely for a delay of 2^31 ms and more', async () => {
		const month = 30 * 24 * 3600 * 1000
		const work = failing(clock, new Error('x'))
		await run(work, { baseDelayMs: month, maxDelayMs: month })
		expect(work.startedAt).toEqual([0, month])
	})

	it('a wall clock jump of an hour has no effect', async () => {
		const work = failing(clock, new Error('x'))
		const answer = retryWithBackoff(work, { ...steady, runtime: clock, maxElapsedMs: 1000 })
		await clock.advance(50)
		clock.jumpWallClock(3_600_000)
		await clock.advance(50)
		await expect(answer).resolves.toBe('ok')
		expect(work.startedAt).toEqual([0, 100])
	})
})
