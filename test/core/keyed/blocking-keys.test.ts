import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest'
import {
	bulkhead,
	type CallOptions,
	CircuitOpenError,
	circuitBreaker,
	keyed,
	type Policy,
	pipeline,
	retry,
} from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'
import { type Block, Registry } from '../../../src/core/keyed/registry.ts'

const keyOf = ({ key }: CallOptions) => key ?? 'default'

let warn: MockInstance<typeof console.warn>
beforeEach(() => {
	warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => warn.mockRestore())

async function useKeys(policy: Policy, count: number): Promise<void> {
	for (let n = 0; n < count; n++) await policy.execute(() => n, { key: `k${n}` })
}

describe('a key whose policy is isolated', () => {
	test('stays isolated after calls with 2,000 other keys', async () => {
		const perHost = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime() })
		perHost.get('a').isolate()
		await useKeys(perHost, 2_000)
		expect(perHost.size).toBe(1_001)
		await expect(perHost.execute(() => 1, { key: 'a' })).rejects.toThrow(CircuitOpenError)
		expect(warn).not.toHaveBeenCalled()
	})

	test('stays isolated after idleMs', async () => {
		const clock = virtualRuntime()
		const perHost = keyed(keyOf, () => circuitBreaker(), { runtime: clock, idleMs: 1_000 })
		perHost.get('a').isolate()
		await clock.advance(5_000)
		await useKeys(perHost, 2)
		expect(perHost.get('a').stats.retryAfterMs).toBe(Infinity)
	})

	test('stays isolated inside a pipeline, and inside a keyed policy inside a keyed policy', async () => {
		const options = { runtime: virtualRuntime(), maxKeys: 2 }
		const breakers: ReturnType<typeof circuitBreaker>[] = []
		const inPipeline = keyed(
			keyOf,
			() => {
				const breaker = circuitBreaker()
				breakers.push(breaker)
				return pipeline(bulkhead(), breaker, retry())
			},
			options,
		)
		inPipeline.get('a')
		breakers[0]?.isolate()
		await useKeys(inPipeline, 9)
		expect(inPipeline.has('a')).toBe(true)
		const nested = keyed(keyOf, () => keyed(keyOf, () => circuitBreaker()), options)
		nested.get('a').get('b').isolate()
		await useKeys(nested, 9)
		expect(nested.has('a')).toBe(true)
	})

	test('can be deleted', async () => {
		const perHost = keyed(keyOf, () => circuitBreaker(), { runtime: virtualRuntime(), maxKeys: 2 })
		perHost.get('a').isolate()
		await useKeys(perHost, 5)
		expect(perHost.delete('a')).toBe(true)
		expect(await perHost.execute(() => 1, { key: 'a' })).toBe(1)
	})
})

describe('a registry whose values reject calls', () => {
	const values: Record<string, Block> = {}
	const blockOf = (key: string): Block => values[key] ?? 0
	const registryOf = (maxKeys: number, idleMs = Infinity) => {
		for (const key of Object.keys(values)) delete values[key]
		return new Registry<string>(maxKeys, idleMs, { blockOf, limitName: 'maxKeys' })
	}
	const make = (key: string): string => key
	const use = (registry: Registry<string>, keys: string, now = 0): void => {
		for (const key of keys) registry.get(key, now, make)
	}

	test('keeps them beyond the maximum, and evicts the others in order', () => {
		const registry = registryOf(2)
		Object.assign(values, { b: 1, d: 2 })
		use(registry, 'abcdefg')
		expect([...registry.keys()].join('')).toBe('bdfg')
	})

	test('evicts a value that no longer rejects calls when the next key is created', () => {
		const registry = registryOf(2)
		Object.assign(values, { a: 1 })
		use(registry, 'abcd')
		expect([...registry.keys()].join('')).toBe('acd')
		values['a'] = 0
		use(registry, 'e')
		expect([...registry.keys()].join('')).toBe('de')
	})

	test('keeps a value that is used again like any other', () => {
		const registry = registryOf(2)
		Object.assign(values, { a: 1 })
		use(registry, 'abcd')
		values['a'] = 0
		use(registry, 'a')
		expect([...registry.keys()].join('')).toBe('ad')
	})

	test('evicts one with a warning beyond the maximum of each kind', () => {
		const registry = registryOf(2)
		Object.assign(values, { a: 2, b: 2, c: 2, d: 1, e: 1, f: 1, g: 1 })
		use(registry, 'abcdefgxyz')
		const kept = [...registry.keys()]
		expect(kept.filter((key) => values[key] === 2)).toHaveLength(2)
		expect(kept.filter((key) => values[key] === 1)).toHaveLength(2)
		expect(kept.filter((key) => !values[key])).toEqual(['y', 'z'])
		expect(warn.mock.calls.map(([text]) => /which (.*)\./.exec(text)?.[1])).toEqual([
			'was isolated',
			'rejected calls',
		])
	})

	test('evicts no value that rejects calls without a warning, and keeps at most maxKeys of each kind, in any history', () => {
		const keys = fc.constantFrom(...'abcdefgh')
		const steps = fc.array(fc.tuple(keys, fc.constantFrom<Block>(0, 0, 1, 2), fc.boolean()), {
			maxLength: 60,
		})
		fc.assert(
			fc.property(steps, (history) => {
				warn.mockClear()
				const registry = registryOf(3)
				for (const [key, block, isChange] of history) {
					const before = new Set(registry.keys())
					if (isChange) values[key] = block
					else use(registry, key)
					const evicted = [...before].filter((known) => registry.find(known) === undefined)
					// Of open circuits only the first is reported.
					for (const one of evicted) if (values[one]) expect(warn).toHaveBeenCalled()
					expect(registry.size).toBeLessThanOrEqual(9)
				}
			}),
		)
	})

	test('reports the first open circuit that it evicts, and every isolated one', () => {
		const registry = registryOf(1)
		Object.assign(values, { a: 1, b: 1, c: 1, d: 2, e: 2, f: 2 })
		use(registry, 'abcdefxyz')
		expect(warn.mock.calls.map(([text]) => text)).toEqual([
			"yaoki: evicted 'a', which rejected calls. Increase maxKeys (1)",
			"yaoki: evicted 'd', which was isolated. Increase maxKeys (1)",
			"yaoki: evicted 'e', which was isolated. Increase maxKeys (1)",
		])
	})

	test('moves a value to the other list if an open circuit is isolated', () => {
		const registry = registryOf(1)
		Object.assign(values, { a: 1 })
		use(registry, 'abc')
		values['a'] = 2
		use(registry, 'd')
		Object.assign(values, { e: 1, f: 1 })
		use(registry, 'efgh')
		expect(registry.find('a')).toBe('a')
	})
})
