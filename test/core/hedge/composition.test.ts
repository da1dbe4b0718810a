import { describe, expect, test, vi } from 'vitest'
import {
	bulkhead,
	type CallContext,
	circuitBreaker,
	explain,
	fallback,
	hedge,
	pipeline,
	retry,
	retryBudget,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { exceptCalls, settled, steady, taking } from '../../support/scenario.ts'

const never = () => new Promise<never>(() => {})

/** Work whose n-th request takes so many milliseconds and then answers with `n`, from 1; a negative one fails. */
function lasting(clock: VirtualRuntime, ...durations: readonly number[]) {
	const sentAt: number[] = []
	const work = async () => {
		const ms = durations[sentAt.length] ?? durations.at(-1) ?? 0
		const number = sentAt.push(clock.now())
		await taking(clock, Math.abs(ms), ms < 0 ? new Error(`request ${number}`) : undefined)()
		return number
	}
	return Object.assign(work, { sentAt })
}

describe('a hedge inside a retry', () => {
	test('is sent for each attempt, and the retry decides once when both have failed', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 1 }), hedge({ delayMs: 10 }))
		const work = lasting(clock, -30)
		const events: string[] = []
		policy.subscribe(exceptCalls((event) => events.push(event.type)))
		const result = await settled(clock, policy.execute(work))
		expect(result).toMatchObject({ error: { message: 'request 3' } })
		expect(work.sentAt).toEqual([0, 10, 140, 150])
		expect(events).toEqual(['hedge', 'retry_attempt', 'hedge', 'retry_failure'])
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({
			stop: 'retries-exhausted',
			attempts: [{ errorMessage: 'request 1' }, { errorMessage: 'request 3' }],
		})
	})

	test('regression: reports a call once to the outer layers, however many requests it had', async () => {
		// Each hedge went on through the layers around: a bulkhead released slots that were not held, a breaker counted twice.
		const clock = virtualRuntime()
		const limit = bulkhead({ maxConcurrent: 2 })
		const breaker = circuitBreaker()
		const policy = pipeline({ runtime: clock }, limit, breaker, retry(steady), hedge({ delayMs: 10 }))
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		const other = policy.execute(taking(clock, 5))
		expect(await settled(clock, policy.execute(lasting(clock, 100, 20)))).toEqual({ ok: true, value: 2 })
		await other
		expect(events.map(({ type }) => type).sort()).toEqual([
			'hedge',
			'hedge',
			'retry_success',
			'retry_success',
			'success',
			'success',
		])
		expect(breaker.stats).toMatchObject({ successCount: 2, failureCount: 0 })
		expect(limit.stats).toMatchObject({ concurrent: 0 })
	})

	test('does not retry one request while the other may succeed', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry(steady), hedge({ delayMs: 10 }))
		const work = lasting(clock, -30, 100)
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 2 })
		expect(work.sentAt).toEqual([0, 10])
	})
})

describe('a retry inside a hedge', () => {
	test('retries each request separately', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), retry({ ...steady, maxRetries: 2 }))
		const attempts: string[] = []
		let sent = 0
		const answer = policy.execute(({ attempt }) => {
			attempts.push(`attempt ${attempt} at ${clock.now()}`)
			return sent++ < 2 ? taking(clock, 1, new Error('down'))() : 'ok'
		})
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 'ok' })
		expect(attempts).toEqual(['attempt 0 at 0', 'attempt 0 at 10', 'attempt 1 at 101'])
	})

	test('regression: whose retries are exhausted in the hedge does not stop the first request', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), retry({ ...steady, maxRetries: 1 }))
		// The hedge fails at 12 and 113; the first request at 200, and is then tried again.
		const work = lasting(clock, -200, -2, -1, 5)
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 4 })
		expect(work.sentAt).toEqual([0, 10, 112, 300])
	})

	test('stops waiting for its next attempt when the other request wins', async () => {
		const clock = virtualRuntime()
		const events: string[] = []
		const inner = retry({ baseDelayMs: 5_000, jitterStrategy: 'none' })
		inner.subscribe(exceptCalls((event) => events.push(event.type)))
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), inner)
		expect(await settled(clock, policy.execute(lasting(clock, -20, 30)))).toEqual({ ok: true, value: 2 })
		expect(events).toEqual(['retry_attempt', 'retry_success', 'retry_failure'])
		expect(clock.pendingTimers).toBe(0)
	})
})

describe('a hedge that shares a budget with a retry', () => {
	test.each(['around', 'inside'])(
		'with the retry %s it: deposit for one call, and spend from the same',
		async (where) => {
			const clock = virtualRuntime()
			const budget = retryBudget({ maxRetryRatio: 0, minRetriesPerSecond: 0.2, runtime: clock })
			const policies = [retry({ ...steady, budget }), hedge({ delayMs: 10, budget })]
			const policy = pipeline({ runtime: clock }, ...(where === 'around' ? policies : policies.reverse()))
			const work = lasting(clock, -30)
			expect(await settled(clock, policy.execute(work))).toMatchObject({ ok: false })
			expect(budget.stats).toEqual({ requests: 1, retries: 2, available: 0 })
			expect(work.sentAt).toHaveLength(3)
		},
	)
})

describe('a hedge and timeouts', () => {
	test('outside ends all requests immediately, with its own error as the reason', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, timeout(50), hedge({ delayMs: 10 }))
		const reasons: unknown[] = []
		const answer = policy.execute(({ signal }) => {
			signal.addEventListener('abort', () => reasons.push(signal.reason))
			return never()
		})
		const result = await settled(clock, answer)
		expect(result).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(clock.now()).toBe(50)
		const error = result.ok ? undefined : result.error
		expect(reasons).toEqual([error, error])
		expect(clock.pendingTimers).toBe(0)
	})

	test('outside also ends a call that waits only for its second request', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, timeout(50), hedge({ delayMs: 10 }))
		const work = lasting(clock, -20, 500)
		const answer = policy.execute(work)
		const end = answer.catch(() => clock.now())
		expect(await settled(clock, answer)).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(await end).toBe(50)
	})

	test('regression: outside is not overruled by a request that settles because it was aborted', async () => {
		const clock = virtualRuntime()
		const limit = timeout(50)
		const events: string[] = []
		limit.subscribe(exceptCalls((event) => events.push(event.type)))
		const policy = pipeline({ runtime: clock }, limit, hedge({ delayMs: 10 }))
		const partial = ({ signal }: CallContext) =>
			new Promise((resolve) => {
				signal.addEventListener('abort', () => resolve('partial'))
			})
		expect(await settled(clock, policy.execute(partial))).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(events).toEqual(['timeout'])
	})

	test('inside apply to each request', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), timeout(50))
		const ends: number[] = []
		const answer = policy.execute(({ signal }) => {
			signal.addEventListener('abort', () => ends.push(clock.now()))
			return never()
		})
		expect(await settled(clock, answer)).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(ends).toEqual([50, 60])
		expect(clock.pendingTimers).toBe(0)
	})

	test('inside let the second request win after the first has timed out', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 30 }), timeout(50))
		const work = lasting(clock, 500, 40)
		const answer = policy.execute(work)
		const end = answer.then(() => clock.now())
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 2 })
		expect(await end).toBe(70)
	})
})

describe('a hedge and bulkheads', () => {
	test("keeps the loser's slot until its operation has settled", async () => {
		const clock = virtualRuntime()
		const inner = bulkhead({ maxConcurrent: 2 })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), inner)
		const answer = policy.execute(lasting(clock, 100, 20))
		await clock.advance(30)
		expect(await answer).toBe(2)
		expect(inner.stats).toMatchObject({ concurrent: 1 })
		await clock.advance(70)
		expect(inner.stats).toMatchObject({ concurrent: 0 })
	})

	test.each([
		['first', [100, 20], 30, 100],
		['second', [20, 100], 20, 110],
	])(
		"keeps the call's outer slot until the %s request, which lost, has settled",
		async (_, durations, won, end) => {
			const clock = virtualRuntime()
			const outer = bulkhead({ maxConcurrent: 1 })
			const policy = pipeline({ runtime: clock }, outer, hedge({ delayMs: 10 }))
			const answer = policy.execute(lasting(clock, ...durations))
			await clock.advance(won)
			await answer
			await clock.advance(end - won - 1)
			expect(outer.stats).toMatchObject({ concurrent: 1 })
			await clock.advance(1)
			expect(outer.stats).toMatchObject({ concurrent: 0 })
		},
	)

	test('leaves a queue when the other request has won', async () => {
		const clock = virtualRuntime()
		const inner = bulkhead({ maxConcurrent: 1 })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), inner)
		const answer = policy.execute(lasting(clock, 50))
		await clock.advance(20)
		expect(inner.stats).toMatchObject({ concurrent: 1, queued: 1 })
		expect(await settled(clock, answer)).toEqual({ ok: true, value: 1 })
		expect(inner.stats).toMatchObject({ concurrent: 0, queued: 0 })
		expect(clock.now()).toBe(50)
	})
})

describe('a hedge and breakers', () => {
	test('inside count neither a loser nor a request that was never sent', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), breaker)
		expect(await settled(clock, policy.execute(lasting(clock, 100, 20)))).toEqual({ ok: true, value: 2 })
		expect(await settled(clock, policy.execute(lasting(clock, 5)))).toEqual({ ok: true, value: 1 })
		expect(breaker.currentState).toBe('closed')
	})

	test('inside may reject the second request without effect', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const policy = pipeline({ runtime: clock }, hedge({ delayMs: 10 }), breaker)
		const slow = policy.execute(lasting(clock, 100))
		await settled(
			clock,
			policy.execute(() => Promise.reject(new Error('down'))),
		)
		expect(breaker.currentState).toBe('open')
		expect(await slow).toBe(1)
	})
})

describe('a hedge and a fallback', () => {
	test('inside applies to each request', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			hedge({ delayMs: 10 }),
			fallback(() => 'instead'),
		)
		expect(await settled(clock, policy.execute(lasting(clock, 100, -5)))).toEqual({
			ok: true,
			value: 'instead',
		})
	})

	test('outside applies when both requests have failed', async () => {
		const clock = virtualRuntime()
		const asked = vi.fn((error: Error) => error.message)
		const policy = pipeline({ runtime: clock }, fallback(asked), hedge({ delayMs: 10 }))
		expect(await settled(clock, policy.execute(lasting(clock, -20)))).toEqual({
			ok: true,
			value: 'request 1',
		})
		expect(asked).toHaveBeenCalledTimes(1)
	})
})

describe('a hedge with the callback runner', () => {
	/** Runs a call by callbacks: each request takes so long and answers with its number, or fails. */
	function run(durations: readonly number[], ...around: readonly Parameters<typeof pipeline>[1][]) {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, ...around, hedge({ delayMs: 10 }))
		const answers: unknown[] = []
		const reasons: unknown[] = []
		let sent = 0
		clock.run<number, unknown>(
			policy,
			({ signal }, done) => {
				const ms = durations[sent] ?? 1_000
				const number = ++sent
				signal.addEventListener('abort', () => reasons.push([number, signal.reason.name]))
				clock.setTimer(Math.abs(ms), () => (ms < 0 ? done(`failed ${number}`) : done(null, number)))
			},
			(error, value) => answers.push([clock.now(), error ?? value]),
		)
		clock.runTimers()
		return { answers, reasons, sent }
	}

	test('returns the first result and aborts the loser', () => {
		expect(run([100, 20])).toEqual({ answers: [[30, 2]], reasons: [[1, 'YaokiError']], sent: 2 })
		expect(run([20, 100])).toEqual({ answers: [[20, 1]], reasons: [[2, 'YaokiError']], sent: 2 })
		expect(run([5])).toEqual({ answers: [[5, 1]], reasons: [], sent: 1 })
	})

	test("waits for the other request, and ends with the first one's error", () => {
		expect(run([-20, 50])).toMatchObject({ answers: [[60, 2]] })
		expect(run([-20, -50])).toMatchObject({ answers: [[60, 'failed 1']] })
		expect(run([-50, -20])).toMatchObject({ answers: [[50, 'failed 1']] })
	})

	test('is retried and interrupted like any other', () => {
		expect(run([-5, 5], retry(steady))).toMatchObject({ answers: [[110, 2]], sent: 2 })
		expect(run([], timeout(50))).toMatchObject({
			answers: [[50, { name: 'TimeoutError' }]],
			reasons: [
				[1, 'TimeoutError'],
				[2, 'TimeoutError'],
			],
		})
	})
})
