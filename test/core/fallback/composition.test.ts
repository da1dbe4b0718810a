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
import { dead, exceptCalls, failing, settled, steady, taking } from '../../support/scenario.ts'

const down = new Error('down')
const fail = () => {
	throw down
}
const never = () => new Promise<never>(() => {})

describe('a fallback among other policies', () => {
	test('outside a retry applies when the retries are exhausted', async () => {
		const clock = virtualRuntime()
		const work = dead(clock)
		const policy = pipeline({ runtime: clock }, fallback('instead'), retry({ ...steady, maxRetries: 2 }))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'instead' })
		expect(work.startedAt).toEqual([0, 100, 300])
	})

	test('inside a retry applies to the first failure', async () => {
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

	test('inside a retry lets the operation run again if the alternative failed', async () => {
		const clock = virtualRuntime()
		const work = failing(clock, down)
		const policy = pipeline({ runtime: clock }, retry(steady), fallback(fail))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toEqual([0, 100])
	})

	test('outside a breaker replaces its rejection', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback((error: Error) => error.name),
			circuitBreaker({ failureThreshold: 1 }),
		)
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'Error' })
		expect(await settled(clock, policy.execute(fail))).toEqual({ ok: true, value: 'CircuitOpenError' })
	})

	test('inside a breaker keeps it closed, because the call succeeded', async () => {
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

	test('outside a timeout replaces its error', async () => {
		const clock = virtualRuntime()
		const policy = pipeline(
			{ runtime: clock },
			fallback((error: unknown) => error instanceof TimeoutError),
			timeout(50),
		)
		expect(await settled(clock, policy.execute(never))).toEqual({ ok: true, value: true })
	})

	test('inside a timeout is interrupted if an alternative hangs', async () => {
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

	test('is skipped for an operation that an outer timeout ended', async () => {
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

	test('regression: a failed alternative does not make the outer of two retries start again', async () => {
		// The alternative's failure once made the outer retry forget that the inner one had given up: 9 calls instead of 3.
		const clock = virtualRuntime()
		const work = dead(clock)
		const twice = { ...steady, maxRetries: 2 }
		const policy = pipeline({ runtime: clock }, retry(twice), fallback(fail), retry(twice))
		expect(await settled(clock, policy.execute(work))).toMatchObject({ ok: false })
		expect(work.startedAt).toHaveLength(3)
	})

	test('works with the callback runner', () => {
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

describe('what a fallback reports', () => {
	async function emitted(policy: ReturnType<typeof fallback>, clock: ReturnType<typeof virtualRuntime>) {
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await settled(clock, policy.execute(fail, { name: 'load', key: 'k' }))
		return events
	}

	test('is one event with the error that it replaces', async () => {
		const clock = virtualRuntime()
		const policy = fallback(fail, { orElse: [fail, 'instead'], name: 'prices', runtime: clock })
		expect(await emitted(policy, clock)).toEqual([
			{
				type: 'fallback',
				emitter: 'prices',
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

	test('regression: is nothing if it has no value', async () => {
		const clock = virtualRuntime()
		expect(await emitted(fallback(lastGoodValue(1_000), { runtime: clock }), clock)).toEqual([])
	})

	test('is found by explain: the call ended with fallback', async () => {
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

	test('regression: is not a fallback if the operation succeeded in the end', async () => {
		const clock = virtualRuntime()
		const policy = pipeline({ runtime: clock }, retry(steady), fallback(fail))
		const answer = policy.settle(failing(clock, down))
		await clock.runUntilIdle()
		expect(explain(await answer)).toMatchObject({
			stop: 'success',
			attempts: [{ outcome: 'transient' }, { outcome: 'success' }],
		})
	})

	test("a failed alternative leaves the operation's stop reason", async () => {
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
