import { expect, test } from 'vitest'
import { KeyBounds } from '../../../../src/outbox/store/postgres/key-bounds.ts'

test('claims get the bound of a key after many messages were claimed from it', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, 31)
	expect(bounds.of('a')).toBeUndefined()
	expect(bounds.of('a', ['k'])).toBeUndefined()
	bounds.record('a', 'k', 9, 1)
	expect(bounds.of('a')).toEqual({ k: 9 })
	expect(bounds.of('a', ['k', 'other'])).toEqual({ k: 9 })
	expect(bounds.of('a', ['other'])).toBeUndefined()
})

test('after a slow claim, claims get the bounds of all keys that it has found', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'before', 5, 1)
	bounds.recordClaim('a', true)
	bounds.record('a', 'k', 7, 1)
	expect(bounds.of('a')).toEqual({ k: 7 })
	expect(bounds.of('a', ['k', 'before'])).toEqual({ k: 7, before: 5 })
	bounds.recordClaim('a', false)
	expect(bounds.of('a')).toEqual({ k: 7 })
})

test('after a slow claim without known keys, the next claim has bounds, so that it reports where keys start', () => {
	const bounds = new KeyBounds()
	bounds.recordClaim('a', true)
	expect(bounds.of('a')).toEqual({})
	bounds.recordClaim('a', false)
	expect(bounds.of('a')).toBeUndefined()
})

test('destinations do not share bounds', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, 100)
	expect(bounds.of('b')).toBeUndefined()
	expect(bounds.of('b', ['k'])).toBeUndefined()
})

test('a bound can be lowered: the sequence may have been set back', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'k', 7, 100)
	bounds.record('a', 'k', 3, 1)
	expect(bounds.of('a', ['k'])).toEqual({ k: 3 })
})

test('uses the bounds of a limited number of keys: the keys claimed from last', () => {
	const bounds = new KeyBounds()
	const keys = Array.from({ length: 1_500 }, (_, at) => `k${at}`)
	for (const [at, key] of keys.entries()) bounds.record('a', key, at, 100)
	expect(Object.keys(bounds.of('a') ?? {})).toEqual(keys.slice(-1_000))
	// The count of a key that was replaced is kept for a while.
	bounds.record('a', 'k0', 9, 1)
	expect(bounds.of('a', ['k0'])).toEqual({ k0: 9 })
})

test('remembers a limited number of keys', () => {
	const bounds = new KeyBounds()
	bounds.record('a', 'old', 1, 31)
	for (let at = 0; at < 10_000; at++) bounds.record('a', `k${at}`, at, 1)
	bounds.record('a', 'old', 2, 31)
	expect(bounds.of('a', ['old'])).toBeUndefined()
})

test('records bounds of keys that are named like members of objects', () => {
	const bounds = new KeyBounds()
	bounds.record('a', '__proto__', 7, 100)
	expect(JSON.stringify(bounds.of('a'))).toBe('{"__proto__":7}')
	expect(bounds.of('a', ['constructor'])).toBeUndefined()
})
