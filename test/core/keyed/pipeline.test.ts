import { describe, expect, test } from 'vitest'
import {
	bulkhead,
	type CallOptions,
	type CircuitBreaker,
	circuitBreaker,
	type Keyed,
	keyed,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { failing, settled, steady } from '../../support/scenario.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'
const never = () => new Promise<never>(() => {})
const sensitive = { failureThreshold: 1, resetTimeoutMs: 1_000, successThreshold: 1 } as const

describe('in a pipeline, a keyed policy', () => {
	test('acts as what make returns, also a pipeline', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () =>
			pipeline(circuitBreaker({ failureThreshold: 2 }), retry({ ...steady, maxRetries: 1 }), timeout(50)),
		)
		const policy = pipeline({ runtime: clock }, timeout(10_000), perHost)
		expect(await settled(clock, policy.execute(never))).toMatchObject({ error: { name: 'TimeoutError' } })
		expect(clock.now()).toBe(200)
		const work = failing(clock, new Error('down'))
		expect(await settled(clock, policy.execute(work))).toEqual({ ok: true, value: 'ok' })
		expect(work.startedAt).toEqual([200, 300])
	})

	test('may have policies of different depth for different keys', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, (key) =>
			key === 'deep'
				? pipeline(bulkhead(), circuitBreaker(), retry({ ...steady, maxRetries: 1 }), timeout(50))
				: timeout(20),
		)
		const policy = pipeline({ runtime: clock }, perHost, retry({ ...steady, maxRetries: 1 }), timeout(30))
		const times: number[] = []
		const work = () => {
			times.push(clock.now())
			return never()
		}
		const both = ['deep', 'flat'].map((key) => policy.settle(work, { key }))
		await clock.runUntilIdle()
		expect((await Promise.all(both)).map(({ ok }) => ok)).toEqual([false, false])
		// The flat one is over after 20 ms; of the deep one each attempt ends by the inner timeout or the outer one.
		expect(times).toEqual([0, 0, 150])
	})

	test('is entered again by every attempt of an outer retry', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker())
		const policy = pipeline({ runtime: clock }, retry({ ...steady, maxRetries: 2 }), perHost)
		const work = failing(clock, new Error('down'), new Error('down'))
		expect(await settled(clock, policy.execute(work, { key: 'a' }))).toEqual({ ok: true, value: 'ok' })
		expect(perHost.get('a')?.stats).toMatchObject({ failureCount: 2, successCount: 1 })
	})

	test("runs the rest of the pipeline inside each key's policy", async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker())
		const policy = pipeline({ runtime: clock }, perHost, retry({ ...steady, maxRetries: 2 }))
		await settled(clock, policy.execute(failing(clock, new Error('down')), { key: 'a' }))
		await settled(clock, policy.execute(failing(clock, new Error('down')), { key: 'b' }))
		for (const key of ['a', 'b'])
			expect(perHost.get(key)?.stats).toMatchObject({ failureCount: 0, successCount: 1 })
	})

	test('twice, by different keys: each combination goes through both', async () => {
		const clock = virtualRuntime()
		const perTenant = keyed(
			({ name = '' }) => name,
			() => circuitBreaker(),
		)
		const perHost = keyed(keyOf, () => circuitBreaker())
		const policy = pipeline({ runtime: clock }, perTenant, retry({ maxRetries: 0 }), perHost, timeout(50))
		for (const name of ['ann', 'bob'])
			for (const key of ['x', 'y', 'z']) await policy.execute(() => 1, { name, key })
		const counts = (registry: Keyed<CircuitBreaker>) =>
			[...registry.entries()].map(([key, { stats }]) => [key, stats.successCount])
		expect(counts(perTenant)).toEqual([
			['ann', 3],
			['bob', 3],
		])
		expect(counts(perHost)).toEqual([
			['x', 2],
			['y', 2],
			['z', 2],
		])
	})

	test('can be nested', async () => {
		const clock = virtualRuntime()
		const perTenant = keyed(
			({ name = '' }) => name,
			() => keyed(keyOf, () => circuitBreaker(sensitive)),
		)
		const policy = pipeline({ runtime: clock }, perTenant, timeout(50))
		const answer = policy.settle(never, { name: 'ann', key: 'x' })
		await clock.advance(50)
		expect(await answer).toMatchObject({ error: { name: 'TimeoutError' } })
		const stateOf = (name: string, key: string) => perTenant.get(name)?.get(key)?.currentState
		await policy.execute(() => 1, { name: 'ann', key: 'y' })
		await policy.execute(() => 1, { name: 'bob', key: 'x' })
		expect([stateOf('ann', 'x'), stateOf('ann', 'y'), stateOf('bob', 'x')]).toEqual([
			'open',
			'closed',
			'closed',
		])
	})

	test('shares its policies, and nothing else, between two pipelines', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker(sensitive))
		const quick = pipeline({ runtime: clock }, perHost, timeout(10))
		const slow = pipeline({ runtime: clock }, perHost)
		await slow.execute(() => 1)
		const answer = quick.settle(never)
		await clock.advance(10)
		expect(await answer).toMatchObject({ error: { timeoutMs: 10 } })
		expect(await slow.settle(() => 1)).toMatchObject({ error: { code: 'YAOKI_CIRCUIT_OPEN' } })
	})

	test('works with the callback runner', () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => timeout(50))
		const answers: unknown[] = []
		for (const key of ['a', 'b'])
			clock.run(
				pipeline({ runtime: clock }, perHost),
				(_, done) => (key === 'a' ? done(null, 'ok') : undefined),
				(error, value) => answers.push(error instanceof Error ? error.name : value),
				{ key },
			)
		clock.runTimers()
		expect(answers).toEqual(['ok', 'TimeoutError'])
	})
})
