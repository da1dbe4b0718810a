/** What an adversarial review of the policies found, kept as promises. */
import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	circuitBreaker,
	explain,
	hedge,
	keyed,
	pipeline,
	retry,
	timeout,
	type YaokiEvent,
} from 'yaoki'
import { runWithContext, withAmbientContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import { dead, settled, steady } from '../../support/scenario.ts'

const never = () => new Promise<never>(() => {})
const twice = { ...steady, maxRetries: 2 }

describe('regressions: an outer retry stopped for the wrong reason', () => {
	test('an inner timeout stopped it, although nothing had been retried there', async () => {
		const clock = virtualRuntime()
		const inner = timeout(10, { runtime: clock })
		let calls = 0
		const result = await settled(
			clock,
			retry({ ...twice, runtime: clock }).execute((context) =>
				inner.execute(() => {
					calls++
					return never()
				}, context),
			),
		)
		expect(calls).toBe(3)
		expect(explain(result.ok ? undefined : result.error)?.stop).toBe('retries-exhausted')
	})

	test('a failure stopped it that the operation had handled before it failed again', async () => {
		const clock = virtualRuntime()
		const inner = retry({ ...twice, runtime: clock })
		const outer = retry({ ...twice, runtime: clock })
		let attempts = 0
		await settled(
			clock,
			outer.execute(async (context) => {
				attempts++
				await inner.execute(dead(clock), context).catch(() => 'never mind the cache')
				throw new Error('the database is down')
			}),
		)
		expect(attempts).toBe(3)
	})

	test('maxElapsedMs stopped it, set during a call without a recorded start', async () => {
		const clock = virtualRuntime()
		await clock.advance(90_000)
		const policy = retry({ ...steady, maxRetries: 4, runtime: clock })
		const script = dead(clock)
		await settled(
			clock,
			policy.execute((context) => {
				if (context.attempt === 1) policy.update({ maxElapsedMs: 40 })
				return script(context)
			}),
		)
		expect(script.startedAt.length).toBeGreaterThan(1)
	})
})

describe('regressions: call options', () => {
	test('a controller instead of its signal leaked a slot and threw in a timer', async () => {
		const slots = bulkhead({ maxConcurrent: 1, maxQueue: 0 })
		const policy = pipeline(slots, retry({ maxRetries: 1, baseDelayMs: 1 }))
		const signal = new AbortController() as unknown as AbortSignal
		await expect(
			policy.execute(
				() => {
					throw new Error('down')
				},
				{ signal },
			),
		).rejects.toThrow('Invalid option "signal": expected an AbortSignal, got [object AbortController]')
		expect(slots.stats.concurrent).toBe(0)
	})

	test('runWithContext inside another context lost everything but the deadline', async () => {
		const clock = virtualRuntime()
		const script = dead(clock)
		await settled(
			clock,
			runWithContext({ key: 'outer' }, () =>
				retry({ ...twice, runtime: clock }).execute((context) =>
					runWithContext(context, () =>
						withAmbientContext(retry({ ...twice, runtime: clock })).execute(script),
					),
				),
			),
		)
		expect(script.startedAt).toHaveLength(3)
	})
})

describe('regressions: hooks with side effects', () => {
	test('a classify that threw left hedges that were still sent after the result', async () => {
		const clock = virtualRuntime()
		const classify = () => {
			throw new Error('no status')
		}
		const policy = pipeline({ runtime: clock, classify }, hedge({ delayMs: 20, maxHedges: 3 }))
		let sent = 0
		const answer = policy.execute(
			() =>
				new Promise((_, reject) => {
					const ms = sent++ ? 100 : 30
					clock.setTimer(ms, () => reject(new Error('down')))
				}),
		)
		expect(await settled(clock, answer)).toMatchObject({ error: { message: 'no status' } })
		expect(sent).toBe(2)
	})

	test('a key whose policy called the same key during creation hung the next eviction', async () => {
		let isFirst = true
		const perKey = keyed(
			({ key = '' }) => key,
			(key) => {
				if (isFirst) {
					isFirst = false
					void perKey.execute(() => 1, { key })
				}
				return circuitBreaker()
			},
			{ maxKeys: 1 },
		)
		await perKey.execute(() => 1, { key: 'a' })
		expect(await perKey.execute(() => 1, { key: 'b' })).toBe(1)
		expect([...perKey.keys()]).toEqual(['b'])
	})

	test('a state change made by onStateChange was emitted before the change that caused it', async () => {
		const changes: string[] = []
		const breaker = circuitBreaker({
			failureThreshold: 1,
			onStateChange: (_, to) => to === 'open' && breaker.reset(),
		})
		breaker.subscribe((event: YaokiEvent) => {
			if (event.type === 'state_change') changes.push(`${event.from} to ${event.to}`)
		})
		await breaker.settle(() => Promise.reject(new Error('down')))
		expect(changes).toEqual(['closed to open', 'open to closed'])
	})
})

test('regression: a direct call of a policy replaced the runtime of its pipeline', async () => {
	const clock = virtualRuntime()
	const breaker = circuitBreaker({ failureThreshold: 1, resetTimeoutMs: 1_000 })
	const policy = pipeline({ runtime: clock }, breaker)
	await policy.settle(() => Promise.reject(new Error('down')))
	await breaker.settle(() => 1)
	expect(breaker.stats.retryAfterMs).toBe(1_000)
})
