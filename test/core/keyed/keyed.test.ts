import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
	type Bulkhead,
	bulkhead,
	type CallOptions,
	type CircuitBreaker,
	circuitBreaker,
	explain,
	keyed,
	pipeline,
	retry,
	timeout,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { Keyed } from '../../../src/core/keyed/keyed.ts'
import { settled } from '../../support/scenario.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'
const down = () => Promise.reject(new Error('down'))
const sensitive = { failureThreshold: 1, resetTimeoutMs: 1_000, successThreshold: 1 } as const

describe('a keyed policy', () => {
	test("keeps one policy per key: one host's outage does not affect another", async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker(sensitive))
		const policy = pipeline({ runtime: clock }, perHost, retry({ maxRetries: 0 }))
		await policy.settle(down, { key: 'a.example' })
		expect(await policy.settle(() => 1, { key: 'a.example' })).toMatchObject({
			error: { code: 'YAOKI_CIRCUIT_OPEN' },
		})
		expect(await policy.execute(() => 1, { key: 'b.example' })).toBe(1)
		expect(perHost.get('a.example')?.currentState).toBe('open')
		expect(perHost.get('b.example')?.currentState).toBe('closed')
	})

	test('creates the policy of a key on first use, and passes the key to make', async () => {
		const make = vi.fn((key: string) => circuitBreaker({ name: `breaker of ${key}` }))
		const policy = keyed(keyOf, make)
		expect(make).not.toHaveBeenCalled()
		for (const key of ['a', 'b', 'a', 'a']) await policy.execute(() => 1, { key })
		expect(make.mock.calls).toEqual([['a'], ['b']])
		expect(policy.get('a')?.name).toBe('breaker of a')
	})

	test("passes the call's options to the key function, or an empty object", async () => {
		const seen = vi.fn((call: CallOptions) => call.name ?? 'none')
		const policy = keyed(seen, () => timeout(50))
		await policy.execute(() => 1)
		await policy.execute(() => 1, { name: 'load', key: 'k', idempotent: true })
		expect(seen.mock.calls).toEqual([[{}], [{ name: 'load', key: 'k', idempotent: true }]])
		expect([...policy.keys()]).toEqual(['none', 'load'])
	})

	test('the factory creates an instance of the class, which knows the type of its policies', () => {
		const policy = keyed(keyOf, () => bulkhead())
		expect(policy).toBeInstanceOf(Keyed)
		expectTypeOf(policy.get('a')).toEqualTypeOf<Bulkhead>()
		expectTypeOf(new Keyed(keyOf, () => circuitBreaker()).get('a')).toEqualTypeOf<CircuitBreaker>()
	})

	test('calls the operation before execute returns', async () => {
		const policy = keyed(keyOf, () => circuitBreaker())
		const work = vi.fn()
		const answer = policy.execute(work)
		expect(work).toHaveBeenCalledOnce()
		await answer
	})

	test("passes its pipeline's runtime on", async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker(sensitive))
		await pipeline({ runtime: clock }, perHost).settle(down)
		await clock.advance(400)
		expect(perHost.get('default')?.stats.retryAfterMs).toBe(600)
	})

	test("passes its own runtime and classifier on before the pipeline's", async () => {
		const clock = virtualRuntime()
		const classify = () => ({ kind: 'permanent', isKnown: true }) as const
		const perHost = keyed(keyOf, () => circuitBreaker(sensitive), { runtime: clock, classify })
		await pipeline({ runtime: virtualRuntime() }, perHost).settle(down)
		expect(perHost.get('default')?.currentState).toBe('closed')
	})

	test("is only the key's policy outside a pipeline", async () => {
		const policy = keyed(keyOf, () => circuitBreaker(sensitive))
		await policy.settle(down)
		expect(await policy.settle(() => 1)).toMatchObject({ error: { code: 'YAOKI_CIRCUIT_OPEN' } })
	})
})

describe('the registry', () => {
	test('lists keys and policies in order of creation', async () => {
		const policy = keyed(keyOf, (name) => circuitBreaker({ name }))
		for (const key of ['b', 'a', 'c', 'b']) await policy.execute(() => 1, { key })
		expect(policy.size).toBe(3)
		expect([...policy.keys()]).toEqual(['b', 'a', 'c'])
		expect([...policy.entries()].map(([key, { name, stats }]) => [key, name, stats.successCount])).toEqual([
			['b', 'b', 2],
			['a', 'a', 1],
			['c', 'c', 1],
		])
		expect(policy.has('d')).toBe(false)
	})

	test('deletes a key: calls in flight continue, and the next call gets a new policy', async () => {
		const clock = virtualRuntime()
		const policy = keyed(keyOf, () => bulkhead({ maxConcurrent: 1, maxQueue: 1 }), { runtime: clock })
		let end = (_: string) => {}
		const first = policy.execute(() => new Promise<string>((resolve) => (end = resolve)))
		const queued = policy.execute(() => 'queued')
		const before = policy.get('default')
		expect([policy.delete('default'), policy.delete('default'), policy.size]).toEqual([true, false, 0])
		expect(await policy.execute(() => 'new policy')).toBe('new policy')
		expect(policy.get('default')).not.toBe(before)
		end('first')
		expect(await Promise.all([first, queued])).toEqual(['first', 'queued'])
		expect(before?.stats).toMatchObject({ concurrent: 0, queued: 0 })
		expect(policy.size).toBe(1)
	})

	test('accepts any string as a key', async () => {
		const policy = keyed(keyOf, () => circuitBreaker())
		for (const key of ['', '__proto__', 'constructor', 'toString']) await policy.execute(() => 1, { key })
		expect([...policy.keys()]).toEqual(['', '__proto__', 'constructor', 'toString'])
	})
})

describe('an invalid key function ends the call, and nothing is called', () => {
	test('a key function that throws ends the call', async () => {
		const policy = keyed(
			() => {
				throw new Error('no tenant')
			},
			() => circuitBreaker(),
		)
		const work = vi.fn()
		const result = await policy.settle(work)
		expect(result).toMatchObject({ ok: false, error: { message: 'no tenant' } })
		expect(explain(result)).toMatchObject({ stop: 'hook-threw' })
		expect(work).not.toHaveBeenCalled()
	})

	test.each([[undefined], [7], [null], [{}]])('a key function that returns %s ends the call', async (key) => {
		const policy = keyed((() => key) as never, () => circuitBreaker())
		const work = vi.fn()
		await expect(policy.execute(work)).rejects.toMatchObject({
			name: 'InvalidArgumentError',
			argument: 'keyOf(call)',
			received: key,
		})
		expect([work.mock.calls.length, policy.size]).toEqual([0, 0])
	})

	test('a key function that returns a promise ends the call', async () => {
		const policy = keyed((async () => 'a') as never, () => circuitBreaker())
		await expect(policy.execute(() => 1)).rejects.toMatchObject({ code: 'YAOKI_ASYNC_HOOK' })
	})

	test('the error is neither retried nor counted by an outer breaker', async () => {
		const clock = virtualRuntime()
		const breaker = circuitBreaker(sensitive)
		const key = vi.fn(() => {
			throw new Error('no tenant')
		})
		const policy = pipeline(
			{ runtime: clock },
			breaker,
			retry(),
			keyed(key, () => bulkhead()),
		)
		expect(
			await settled(
				clock,
				policy.execute(() => 1),
			),
		).toMatchObject({ error: { message: 'no tenant' } })
		expect(key).toHaveBeenCalledOnce()
		expect(breaker.stats).toMatchObject({ state: 'closed', failureCount: 0, successCount: 0 })
	})
})

describe('make', () => {
	test('a make that throws ends the call and leaves no key behind', async () => {
		let isReady = false
		const policy = keyed(keyOf, () => {
			if (!isReady) throw new Error('no such host')
			return circuitBreaker()
		})
		await expect(policy.execute(() => 1)).rejects.toThrow('no such host')
		expect(policy.size).toBe(0)
		isReady = true
		expect(await policy.execute(() => 1)).toBe(1)
	})

	test('a make that returns no policy throws an error that names the key', async () => {
		const policy = keyed(keyOf, (() => ({})) as never)
		await expect(policy.execute(() => 1, { key: 'a' })).rejects.toThrow(
			'Invalid argument "make(\'a\')": expected a policy, got [object Object]',
		)
		expect(policy.size).toBe(0)
	})

	test('make and the key function must be functions', () => {
		expect(() => keyed('key' as never, () => circuitBreaker())).toThrow('Invalid argument "keyOf"')
		expect(() => keyed(keyOf, circuitBreaker() as never)).toThrow('Invalid argument "make"')
	})
})
