import { describe, expect, test } from 'vitest'
import {
	type CallContext,
	circuitBreaker,
	explain,
	fallback,
	lastGoodValue,
	pipeline,
	retry,
	TimeoutError,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { dead, failing, settled, steady, taking } from '../../scenario.ts'

const down = new Error('down')
const fail = () => {
	throw down
}
const never = () => new Promise<never>(() => {})

describe('a fallback among other policies', () => {
	test('outside a retry answers when the retries are used up', async () => {
		const clock = virtualRuntime()
		const work = dead(clock)
		const policy = pipeline({ runtime: clock }, fallback('instead'), retry({ ...steady, maxRetries: 2 }))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'instead' })
		expect(work.startedAt).toEqual([0, 100, 300])
	})

	test('inside a retry answers for the first failure already', async () => {
		const clock = virtualRuntime()
		const work = dead(clock)
		const policy = pipeline(
			{ runtime: clock },
			retry(steady),
			fallback(() => 'instead'),
		)
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'instead' })
		expect(work.startedAt).toEqual([0])
	})

	test('inside a retry has the work itself tried again when the alternative failed', async () => {
		const clock = virtualRuntime()
		const work = failing(clock, down)
		const policy = pipeline({ runtime: clock }, retry(steady), fallback(fail))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toEqual([0, 100])
	})

	test('outside a breaker answers for its refusal', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback((error: Error) => error.name),
			circuitBreaker({ failureThreshold: 1 }),
		)
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'Error' })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'CircuitOpenError' })
	})

	test('inside a breaker keeps it closed, for the call has been answered', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker({ failureThreshold: 1 })
		const policy = pipeline(
			{ runtime: clock },
			breaker,
			fallback(() => 'instead'),
		)
		await settled(clock, policy.execute(fail))
		expect(breaker.currentState).toBe('closed')
	})

	test('outside a timeout answers for it', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback((error: unknown) => error instanceof TimeoutError),
			timeout(50),
		)
		expect(await settled(clock, policy.execute(never))).toEqual({ ok: true, value: true })
	})

	test('inside a timeout is interrupted with an alternative that hangs', async () => {
		const clock = virtualRuntime()
		const signals: AbortSignal[] = []
		const hanging = (_: unknown, { signal }: CallContext) => {
			signals.push(signal)
			return never()
		}
		const policy = pipeline({ runtime: clock }, timeout(50), fallback(hanging, { orElse: ['instead'] }))
		expect(await settled(clock, policy.execute(fail))).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(clock.now()).toBe(50)
		expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
		expect(clock.pendingTimers).toBe(0)
	})

	test('is not asked for work that a timeout outside has cut short', async () => {
		const clock = virtualRuntime()
		const asked: string[] = []
		const policy = pipeline(
			{ runtime: clock },
			timeout(50),
			fallback(() => asked.push('alternative')),
		)
		expect(await settled(clock, policy.execute(never))).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(asked).toEqual([])
	})

	test('regression: an alternative that fails does not have the outer of two retries start all over', async () => {
		// The alternative's failure once made the outer retry forget that the inner one had given up: 9 calls instead of 3.
		const clock = virtualRuntime()
		const work = dead(clock)
		const twice = { ...steady, maxRetries: 2 }
		const policy = pipeline({ runtime: clock }, retry(twice), fallback(fail), retry(twice))
		expect(await settled(clock, policy.execute(work))).toMatchObject({ ok: false })
		expect(work.startedAt).toHaveLength(3)
	})

	test('works without promises, too', () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback(() => 'instead'),
			retry(steady),
		)
		const answers: unknown[] = []
		clock.run(
			policy,
			(_, done) => done(down),
			(error, value) => answers.push([error, value]),
		)
		clock.runTimers()
		expect(answers).toEqual([[null, 'instead']])
	})
})

describe('what a fallback tells', () => {
	async function told(policy: ReturnType<typeof fallback>, clock: ReturnType<typeof virtualRuntime>) {
		const events: YaokiEvent[] = []
		policy.subscribe((event) => events.push(event))
		await settled(clock, policy.execute(fail, { name: 'load', key: 'k' }))
		return events
	}

	test('is one event, with the error that it answers for', async () => {
		const clock = virtualRuntime()
		const policy = fallback(fail, { orElse: [fail, 'instead'], name: 'prices', runtime: clock })
		expect(await told(policy, clock)).toEqual([
			{
				type: 'fallback',
				policy: 'prices',
				call: 'load',
				key: 'k',
				timestamp: expect.any(Number),
				errorType: 'Error',
				errorMessage: 'down',
				callId: 'call-1',
				attempt: 1,
			},
		])
	})

	test('regression: is nothing when it has nothing to answer with', async () => {
		const clock = virtualRuntime()
		expect(await told(fallback(lastGoodValue(1_000), { runtime: clock }), clock)).toEqual([])
	})

	test('is found by explain: the call was ended by a fallback', async () => {
		const clock = virtualRuntime()
		for (const alternative of ['instead', () => 'instead']) {
			const policy = pipeline({ runtime: clock }, fallback(alternative), retry({ ...steady, maxRetries: 1 }))
			const answer = policy.settle(dead(clock))
			await clock.runUntilIdle()
			const result = await answer
			expect(result).toEqual({ ok: true, value: 'instead' })
			expect(explain(result)).toMatchObject({
				stop: 'fallback',
				attempts: [
					{ outcome: 'transient', delayMs: 100 },
					{ outcome: 'transient', errorMessage: 'down' },
				],
			})
		}
	})

	test('regression: is not that it answered, when in the end the work did', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry(steady), fallback(fail))
		const answer = policy.settle(failing(clock, down))
		await clock.runUntilIdle()
		expect(explain(await answer)).toMatchObject({
			stop: 'success',
			attempts: [{ outcome: 'transient' }, { outcome: 'success' }],
		})
	})

	test('of an alternative that failed is why the work was given up', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback(taking(clock, 5, new Error('replica'))),
			retry({ maxRetries: 0 }),
		)
		const result = await settled(clock, policy.execute(dead(clock)))
		expect(explain(result.ok ? undefined : result.error)).toMatchObject({ stop: 'retries-exhausted' })
	})
})
