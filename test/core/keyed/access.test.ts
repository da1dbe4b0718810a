import { describe, expect, test } from 'vitest'
import { bulkhead, type CallOptions, circuitBreaker, keyed, pipeline, retry } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { taking } from '../../support/scenario.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'

describe('get', () => {
	test('creates the policy of a key on first use, and the calls of the key use it', async () => {
		const perHost = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime() })
		const breaker = perHost.get('a')
		expect(perHost.get('a')).toBe(breaker)
		await perHost.execute(() => 1, { key: 'a' })
		expect(breaker.stats.successCount).toBe(1)
		expect([...perHost.keys()]).toEqual(['a'])
	})

	test('evicts the key that was idle for longest beyond maxKeys', () => {
		const perHost = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime(), maxKeys: 2 })
		for (const key of ['a', 'b', 'c']) perHost.get(key)
		expect([...perHost.keys()]).toEqual(['b', 'c'])
	})

	test('uses the clock of the pipeline that contains the policy', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker(), { idleMs: 1_000 })
		const policy = pipeline({ runtime: clock }, perHost, retry())
		await clock.advance(500)
		const breaker = perHost.get('a')
		await clock.advance(900)
		await policy.execute(() => 1, { key: 'b' })
		expect(perHost.get('a')).toBe(breaker)
		await clock.advance(200)
		await policy.execute(() => 1, { key: 'b' })
		expect(perHost.has('a')).toBe(false)
	})

	test('emits events to listeners that subscribed before, with the key', () => {
		const perHost = keyed(keyOf, () => circuitBreaker())
		const keys: unknown[] = []
		perHost.subscribe((event) => keys.push(event.key))
		perHost.get('a').isolate()
		expect(keys).toEqual(['a'])
	})

	test('rejects a key that is not a string, and a function that returns no policy', () => {
		const perHost = keyed(keyOf, () => circuitBreaker())
		expect(() => perHost.get(7 as unknown as string)).toThrow(
			'Invalid argument "key": expected a string, got 7',
		)
		const wrong = keyed(keyOf, () => undefined as unknown as ReturnType<typeof circuitBreaker>)
		expect(() => wrong.get('a')).toThrow(`Invalid argument "make('a')"`)
		expect(wrong.size).toBe(0)
	})
})

describe('has', () => {
	test('finds a key without creating it', async () => {
		const perHost = keyed(keyOf, () => circuitBreaker())
		expect(perHost.has('a')).toBe(false)
		expect(perHost.size).toBe(0)
		await perHost.execute(() => 1, { key: 'a' })
		expect(perHost.has('a')).toBe(true)
	})
})

describe('stats', () => {
	test('lists every key with the statistics of its policy', async () => {
		const clock = virtualRuntime()
		const perTenant = keyed(keyOf, () => bulkhead({ maxConcurrent: 1 }), { runtime: clock })
		expect(perTenant.stats()).toEqual({})
		const calls = ['a', 'a', '__proto__'].map((key) => perTenant.execute(taking(clock, 10), { key }))
		const stats = perTenant.stats()
		expect(Object.keys(stats)).toEqual(['a', '__proto__'])
		expect([stats['a']?.concurrent, stats['a']?.queued]).toEqual([1, 1])
		await clock.advance(100)
		await Promise.all(calls)
		expect(perTenant.stats()['a']).toMatchObject({ concurrent: 0, queued: 0 })
	})

	test('has the statistics of each policy in a pipeline by its name', () => {
		const perHost = keyed(keyOf, () => pipeline(bulkhead({ name: 'slots' }), circuitBreaker(), retry()))
		perHost.get('a')
		expect(perHost.stats()).toMatchObject({
			a: { slots: { concurrent: 0 }, circuitBreaker: { state: 'closed' } },
		})
		expect(Object.keys(perHost.stats()['a'] ?? {})).toEqual(['slots', 'circuitBreaker'])
	})

	test('the stats of a keyed policy inside a keyed policy are nested', () => {
		const nested = keyed(keyOf, () => keyed(keyOf, () => circuitBreaker()))
		nested.get('a').get('b')
		expect(nested.stats()['a']).toMatchObject({ b: { state: 'closed' } })
	})
})
