import { describe, expect, it } from 'vitest'
import { Registry } from '../../../src/core/keyed/registry.ts'
import { numbered } from './numbered.ts'

describe('a key', () => {
	it('is created once and then found', () => {
		const registry = new Registry<string>(10, 1000)
		const make = numbered()
		expect([registry.get('a', 0, make), registry.get('b', 0, make), registry.get('a', 0, make)]).toEqual([
			'a#1',
			'b#2',
			'a#1',
		])
	})

	it('named like a property of every object is an ordinary key', () => {
		const registry = new Registry<string>(10, 1000)
		expect(registry.find('constructor')).toBeUndefined()
		expect(registry.get('__proto__', 0, numbered())).toBe('__proto__#1')
	})

	it('leaves nothing behind if its creation fails', () => {
		const registry = new Registry<string>(1, 1000)
		registry.get('a', 0, numbered())
		const failing = () => {
			throw new Error('no such host')
		}
		expect(() => registry.get('b', 0, failing)).toThrow('no such host')
		expect([...registry.keys()]).toEqual(['a'])
	})

	it('is listed with its value and its uses', () => {
		const registry = new Registry<string>(10, 1000)
		registry.get('a', 5, numbered())
		registry.acquire('b', 7, numbered())
		expect([...registry.keys()]).toEqual(['a', 'b'])
		expect([...registry.entries()].map(({ key, value, uses, usedAt }) => [key, value, uses, usedAt])).toEqual(
			[
				['a', 'a#1', 0, 5],
				['b', 'b#1', 1, 7],
			],
		)
	})
})

describe('beyond the maximum number of keys', () => {
	it('the one that was idle for longest is evicted', () => {
		const registry = new Registry<string>(2, Infinity)
		const make = numbered()
		for (const key of ['a', 'b', 'a', 'c']) registry.get(key, 0, make)
		expect([...registry.keys()]).toEqual(['a', 'c'])
	})

	it('find does not count as a use', () => {
		const registry = new Registry<string>(2, Infinity)
		const make = numbered()
		for (const key of ['a', 'b']) registry.get(key, 0, make)
		expect(registry.find('a')).toBe('a#1')
		registry.get('c', 0, make)
		expect([...registry.keys()]).toEqual(['b', 'c'])
	})

	it('one in use is never evicted, and the bound holds again when it is released', () => {
		const registry = new Registry<string>(2, Infinity)
		const make = numbered()
		const held = ['a', 'b', 'c'].map((key) => registry.acquire(key, 0, make))
		expect(registry.size).toBe(3)
		for (const entry of held) registry.release(entry, 1)
		expect([...registry.keys()]).toEqual(['b', 'c'])
	})

	it('one acquired twice is in use until both are released', () => {
		const registry = new Registry<string>(1, Infinity)
		const make = numbered()
		const entry = registry.acquire('a', 0, make)
		expect(registry.acquire('a', 0, make)).toBe(entry)
		registry.release(entry, 1)
		registry.get('b', 2, make)
		expect([...registry.keys()]).toEqual(['a'])
		registry.release(entry, 3)
		registry.get('b', 4, make)
		expect([...registry.keys()]).toEqual(['b'])
	})

	it('a value is available even if all entries are in use: it is just not kept', () => {
		const registry = new Registry<string>(1, Infinity)
		const make = numbered()
		registry.acquire('a', 0, make)
		expect(registry.get('b', 0, make)).toBe('b#2')
		expect([...registry.keys()]).toEqual(['a'])
	})

	it('a lower maximum evicts those that were idle for longest immediately', () => {
		const registry = new Registry<string>(5, Infinity)
		for (const key of ['a', 'b', 'c']) registry.get(key, 0, numbered())
		registry.resize(1, Infinity)
		expect([...registry.keys()]).toEqual(['c'])
	})
})

describe('an idle key', () => {
	it('is evicted after exactly the idle time, not earlier', () => {
		const registry = new Registry<string>(10, 1000)
		const make = numbered()
		registry.get('a', 0, make)
		expect(registry.get('a', 999, make)).toBe('a#1')
		expect(registry.get('a', 1998, make)).toBe('a#1')
		expect(registry.get('a', 2998, make)).toBe('a#2')
	})

	it('is evicted when any other is used', () => {
		const registry = new Registry<string>(10, 1000)
		for (const key of ['a', 'b', 'c']) registry.get(key, 0, numbered())
		registry.get('d', 5000, numbered())
		expect([...registry.keys()]).toEqual(['d'])
	})

	it('is not idle while it is in use, however long that takes', () => {
		const registry = new Registry<string>(10, 1000)
		const make = numbered()
		const entry = registry.acquire('a', 0, make)
		expect(registry.get('a', 1e9, make)).toBe('a#1')
		registry.release(entry, 2e9)
		expect(registry.get('a', 2e9 + 999, make)).toBe('a#1')
	})
})

describe('a deleted key', () => {
	it('is created again', () => {
		const registry = new Registry<string>(10, 1000)
		const make = numbered()
		registry.get('a', 0, make)
		expect([registry.delete('a'), registry.delete('a'), registry.size]).toEqual([true, false, 0])
		expect(registry.get('a', 0, make)).toBe('a#2')
	})

	it('a deleted key that was in use does not come back when it is released', () => {
		const registry = new Registry<string>(10, 1000)
		const make = numbered()
		const old = registry.acquire('a', 0, make)
		registry.delete('a')
		const young = registry.acquire('a', 1, make)
		registry.release(old, 2)
		expect([registry.find('a'), young.uses]).toEqual(['a#2', 1])
		registry.release(young, 3)
		registry.get('b', 2000, make)
		expect([...registry.keys()]).toEqual(['b'])
	})
})
