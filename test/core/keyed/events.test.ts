import { describe, expect, test, vi } from 'vitest'
import {
	type CallOptions,
	type CircuitBreaker,
	circuitBreaker,
	keyed,
	pipeline,
	retry,
	type YaokiEvent,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

const keyOf = ({ key }: CallOptions) => key ?? 'default'

const heard = () => {
	const names: string[] = []
	return { names, listener: ({ policy }: YaokiEvent) => void names.push(policy) }
}

describe('a listener of a keyed policy', () => {
	test('hears the policies of keys that are there and of those to come, each once', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		await policy.execute(() => 1, { key: 'a' })
		const { names, listener } = heard()
		policy.subscribe(listener)
		for (const key of ['a', 'b', 'a', 'c', 'b']) await policy.execute(() => 1, { key })
		expect(names).toEqual(['a', 'b', 'a', 'c', 'b'])
	})

	test('hears the first call of a new key', async () => {
		const policy = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime() })
		const events: YaokiEvent[] = []
		policy.subscribe((event) => events.push(event))
		await policy.execute(() => 1, { key: 'a' })
		expect(events).toEqual([
			{
				type: 'success',
				durationMs: 0,
				policy: 'circuitBreaker',
				pipeline: 'keyed',
				key: 'a',
				callId: 'call-1',
				attempt: 1,
				timestamp: Date.UTC(2026, 0, 1),
			},
		])
	})

	test('hears nothing more after it has ended, of old keys or new, and others still do', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		const [one, two] = [heard(), heard()]
		const end = policy.subscribe(one.listener)
		policy.subscribe(two.listener)
		await policy.execute(() => 1, { key: 'a' })
		end()
		end()
		for (const key of ['a', 'b']) await policy.execute(() => 1, { key })
		expect(one.names).toEqual(['a'])
		expect(two.names).toEqual(['a', 'a', 'b'])
	})

	test('that has ended is a burden to no later key', async () => {
		const subscribed = vi.fn()
		const policy = keyed(keyOf, () => {
			const breaker = circuitBreaker()
			vi.spyOn(breaker, 'subscribe').mockImplementation(subscribed)
			return breaker
		})
		policy.subscribe(() => {})()
		await policy.execute(() => 1, { key: 'a' })
		expect(subscribed).not.toHaveBeenCalled()
	})

	test('subscribed twice hears twice, until each has ended', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		const { names, listener } = heard()
		const ends = [policy.subscribe(listener), policy.subscribe(listener)]
		await policy.execute(() => 1, { key: 'a' })
		ends[0]?.()
		await policy.execute(() => 1, { key: 'a' })
		expect(names).toEqual(['a', 'a', 'a'])
	})

	test('hears a key that is forgotten and comes again', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime(), maxKeys: 1 })
		const { names, listener } = heard()
		policy.subscribe(listener)
		for (const key of ['a', 'b', 'a']) await policy.execute(() => 1, { key })
		expect(names).toEqual(['a', 'b', 'a'])
	})

	test('hears a call of a deleted key to its end, unless it has ended itself', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		const [one, two] = [heard(), heard()]
		policy.subscribe(one.listener)
		const end = policy.subscribe(two.listener)
		let finish = (_: unknown) => {}
		const answer = policy.execute(() => new Promise((resolve) => (finish = resolve)), { key: 'a' })
		policy.delete('a')
		end()
		finish(1)
		await answer
		expect([one.names, two.names]).toEqual([['a'], []])
	})

	test('hears a policy that several keys share once: it was told as often as there were keys', async () => {
		const shared = circuitBreaker({ name: 'shared' })
		const policies = [
			keyed(keyOf, () => shared, { runtime: virtualRuntime(), maxKeys: 2 }),
			keyed(keyOf, () => pipeline(retry(), shared), { runtime: virtualRuntime(), maxKeys: 2 }),
		]
		for (const policy of policies) {
			const { names, listener } = heard()
			const end = policy.subscribe((event) => event.type === 'success' && listener(event))
			for (const key of ['a', 'b', 'c', 'a']) await policy.execute(() => 1, { key })
			end()
			await policy.execute(() => 1, { key: 'a' })
			expect(names).toEqual(['shared', 'shared', 'shared', 'shared'])
		}
	})

	test('of the pipeline hears nested registries as well', async () => {
		const perTenant = keyed(
			({ name = '' }) => name,
			(tenant) => keyed(keyOf, (host) => circuitBreaker({ name: `${tenant} ${host}` })),
		)
		const policy = pipeline({ runtime: virtualRuntime(), name: 'all' }, perTenant)
		const { names, listener } = heard()
		const end = policy.subscribe(listener)
		await policy.execute(() => 1, { name: 'ann', key: 'x' })
		await policy.execute(() => 1, { name: 'bob', key: 'y' })
		end()
		await policy.execute(() => 1, { name: 'bob', key: 'y' })
		expect(names).toEqual(['ann x', 'bob y'])
	})

	test('kept every forgotten policy alive, so that the bound was none', async () => {
		const made: WeakRef<CircuitBreaker>[] = []
		const policy = keyed(
			keyOf,
			() => {
				const breaker = circuitBreaker()
				made.push(new WeakRef(breaker))
				return breaker
			},
			{ runtime: virtualRuntime(), maxKeys: 2 },
		)
		policy.subscribe(() => {})
		for (let i = 0; i < 50; i++) await policy.execute(() => 1, { key: `k${i}` })
		await new Promise((resolve) => setImmediate(resolve))
		globalThis.gc?.()
		expect(policy.size).toBe(2)
		expect(made.filter((ref) => ref.deref()).length).toBeLessThan(10)
	})
})
