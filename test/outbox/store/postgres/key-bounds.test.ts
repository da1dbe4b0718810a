import { expect, test } from 'vitest'
import { KeyBounds } from '../../../../src/outbox/store/postgres/key-bounds.ts'

test('a claim by key gets the bound of a key after its first claim, a scan after its second', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7)
	expect(bounds.of('a', ['k', 'other'])).toEqual({ k: 7 })
	expect(bounds.of('a')).toBeUndefined()
	bounds.record('a', 'k', 9)
	expect(bounds.of('a')).toEqual({ k: 9 })
	expect(bounds.of('a', ['k'])).toEqual({ k: 9 })
})

test('a scan gets the bound after one claim if that claim took long', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, true)
	expect(bounds.of('a')).toEqual({ k: 7 })
})

test('destinations do not share bounds', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, true)
	expect(bounds.of('b')).toBeUndefined()
	expect(bounds.of('b', ['k'])).toBeUndefined()
})

test('a bound can be lowered: the sequence may have been set back', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, true)
	bounds.record('a', 'k', 3)
	expect(bounds.of('a', ['k'])).toEqual({ k: 3 })
})

test('remembers a limited number of keys: those used last, and fewer of them for scans', () => {
	const bounds = new KeyBounds()
	const keys = Array.from({ length: 20_000 }, (_, at) => `k${at}`)
	for (const [at, key] of keys.entries()) bounds.record('a', key, at, true)
	expect(Object.keys(bounds.of('a') ?? {})).toEqual(keys.slice(-1_000))
	expect(Object.keys(bounds.of('a', keys) ?? {})).toEqual(keys.slice(-11_000))
})

test('keys named like members of objects are keys', () => {
	const bounds = new KeyBounds()
	bounds.record('a', '__proto__', 7, true)
	expect(JSON.stringify(bounds.of('a'))).toBe('{"__proto__":7}')
	expect(bounds.of('a', ['constructor'])).toBeUndefined()
})
