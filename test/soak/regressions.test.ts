/** Bugs that the soak found. */
import { expect, test } from 'vitest'
import { bulkhead, hedge, pipeline, rateLimiter, retry, timeout } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { steady } from '../support/scenario.ts'

test('retries a callback operation that settles in its abort listener after a timeout', () => {
	const clock = virtualRuntime()
	const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 2 }), timeout(50))
	const startedAt: number[] = []
	clock.run(
		policy,
		({ signal }, done) => {
			startedAt.push(clock.now())
			signal.addEventListener('abort', () => done(signal.reason))
		},
		() => {},
	)
	clock.runTimers()
	expect(startedAt).toEqual([0, 150, 400])
})

test('admits a queued call after the call before it has settled, and not while it settles', () => {
	const clock = virtualRuntime()
	const policy = pipeline({ runtime: clock }, bulkhead({ maxConcurrent: 1 }))
	const order: string[] = []
	for (const name of ['first', 'second']) {
		clock.run(
			policy,
			(_, done) => {
				order.push(`${name} works`)
				clock.setTimer(10, () => done())
			},
			() => order.push(`${name} is answered`),
		)
	}
	clock.runTimers()
	expect(order).toEqual(['first works', 'first is answered', 'second works', 'second is answered'])
})

test('keeps the slot until the operation of a hedge ends that was sent while the call waited for the rate limit', async () => {
	const clock = virtualRuntime()
	const slots = bulkhead({ maxConcurrent: 1 })
	const policy = pipeline(
		{ runtime: clock },
		slots,
		hedge({ delayMs: 50, maxHedges: 2 }),
		rateLimiter({ limit: 1, intervalMs: 100, maxWaitMs: 1_000 }),
		timeout(100),
	)
	// Takes the only token, so that the call waits until 100, and its hedges until 200 and 300.
	await policy.execute(() => 'ok')
	const ends = [450, 500, 1_000]
	const deaf = () =>
		new Promise((resolve) => clock.setTimer((ends.shift() ?? 0) - clock.now(), () => resolve('late')))
	const answer = policy.settle(deaf)
	await clock.advance(420)
	expect(await answer).toMatchObject({ ok: false, error: { name: 'TimeoutError' } })
	await clock.advance(300)
	expect(slots.stats.concurrent).toBe(1)
	await clock.advance(400)
	expect(slots.stats.concurrent).toBe(0)
})
