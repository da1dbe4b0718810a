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
import { eventually } from '../../support/eventually.ts'
import { exceptCalls } from '../../support/scenario.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'

const heard = () => {
	const names: string[] = []
	return { names, listener: exceptCalls(({ emitter: policy }) => names.push(policy)) }
}

describe('a listener of a keyed policy', () => {
	test('gets the events of present and future keys, each once', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		await policy.execute(() => 1, { key: 'a' })
		const { names, listener } = heard()
		policy.subscribe(listener)
		for (const key of ['a', 'b', 'a', 'c', 'b']) await policy.execute(() => 1, { key })
		expect(names).toEqual(['a', 'b', 'a', 'c', 'b'])
	})

	test('gets the events of the first call of a new key', async () => {
		const policy = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime() })
		const events: YaokiEvent[] = []
		policy.subscribe(exceptCalls((event) => events.push(event)))
		await policy.execute(() => 1, { key: 'a' })
		expect(events).toEqual([
			{
				type: 'success',
				durationMs: 0,
				emitter: 'circuitBreaker',
				pipeline: 'keyed',
				key: 'a',
				callId: 'call-1',
				attempt: 1,
				timestamp: Date.UTC(2026, 0, 1),
			},
		])
	})

	test('gets nothing after it unsubscribed, for old or new keys, and others still do', async () => {
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

	test('a listener of a keyed policy that unsubscribed costs later keys nothing', async () => {
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

	test('subscribed twice gets events twice, until each has unsubscribed', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime() })
		const { names, listener } = heard()
		const ends = [policy.subscribe(listener), policy.subscribe(listener)]
		await policy.execute(() => 1, { key: 'a' })
		ends[0]?.()
		await policy.execute(() => 1, { key: 'a' })
		expect(names).toEqual(['a', 'a', 'a'])
	})

	test('gets the events of a key that is evicted and created again', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }), { runtime: virtualRuntime(), maxKeys: 1 })
		const { names, listener } = heard()
		policy.subscribe(listener)
		for (const key of ['a', 'b', 'a']) await policy.execute(() => 1, { key })
		expect(names).toEqual(['a', 'b', 'a'])
	})

	test('gets the events of a call of a deleted key to its end, unless it unsubscribed', async () => {
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

	test('regression: that is async and rejects was an unhandled rejection instead of a warning', async () => {
		const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const error = new Error('broken listener')
		const policy = keyed(keyOf, () => circuitBreaker())
		const rejecting = (event: YaokiEvent): unknown => event.type === 'success' && Promise.reject(error)
		policy.subscribe(rejecting)
		await policy.execute(() => 1)
		await eventually(() => expect(warn.mock.calls).toEqual([['yaoki: a listener failed:', error]]))
	})

	test('regression: gets the events of a policy that several keys share once', async () => {
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

	test('a listener of the pipeline gets the events of nested keyed policies', async () => {
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

	test('regression: kept every evicted policy alive', async () => {
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
