/** The limits of the store in memory. */
import { expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import type { IdempotencyStore, StoredResponse } from '../../../src/idempotency/store/store.ts'
import { LEASE_MS, RETENTION_MS, request } from './requests.ts'

const runtime = virtualRuntime()

const response = (bytes: number): StoredResponse => ({
	status: 200,
	headers: [],
	body: new Uint8Array(bytes),
})

async function complete(store: IdempotencyStore<never>, id: string, bytes = 0): Promise<void> {
	await store.claim(request(id, id))
	await store.complete({ id, token: id }, response(bytes), RETENTION_MS)
}

test('a new key takes the place of the key that was completed first at maxKeys', async () => {
	const store = memoryIdempotencyStore({ runtime, maxKeys: 2 })
	await complete(store, 'first')
	await complete(store, 'second')
	await complete(store, 'third')
	expect(await store.find('first')).toBeUndefined()
	expect(await store.find('second')).toMatchObject({ state: 'completed' })
	expect(await store.find('third')).toMatchObject({ state: 'completed' })
})

test('a running key is never removed at maxKeys: the next claim throws', async () => {
	const store = memoryIdempotencyStore({ runtime, maxKeys: 1 })
	await store.claim(request('running', 'a'))
	await expect(async () => store.claim(request('next', 'b'))).rejects.toThrow(
		'The memory store is full: all keys that it could remove are running (maxKeys 1,',
	)
	expect(await store.find('running')).toMatchObject({ state: 'running' })
	expect(await store.release({ id: 'running', token: 'a' })).toBe(true)
	expect(await store.claim(request('next', 'b'))).toMatchObject({ kind: 'claimed' })
})

test('an abandoned key is removed after its retention at maxKeys', async () => {
	const store = memoryIdempotencyStore({ runtime, maxKeys: 1 })
	await store.claim(request('abandoned', 'a'))
	await runtime.advance(LEASE_MS + RETENTION_MS)
	expect(await store.claim(request('next', 'b'))).toMatchObject({ kind: 'claimed' })
})

test('completed bodies are removed in their order at maxBytes until the new one fits', async () => {
	const store = memoryIdempotencyStore({ runtime, maxBytes: 100 })
	for (const id of ['a', 'b', 'c']) await complete(store, id, 30)
	await complete(store, 'd', 50)
	expect(await store.find('a')).toBeUndefined()
	expect(await store.find('b')).toBeUndefined()
	expect(await store.find('c')).toMatchObject({ state: 'completed' })
	expect(await store.find('d')).toMatchObject({ state: 'completed' })
})

test('a body above maxBytes removes nothing', async () => {
	const store = memoryIdempotencyStore({ runtime, maxBytes: 100 })
	await complete(store, 'a', 30)
	await expect(async () => complete(store, 'b', 101)).rejects.toThrow(
		'The memory store is full: 101 bytes are too much for it',
	)
	expect(await store.find('a')).toMatchObject({ state: 'completed' })
})

test('bug: a response that did not fit lost the steps of its key', async () => {
	const store = memoryIdempotencyStore({ runtime, maxBytes: 100 })
	await store.claim(request('a', 'first'))
	await store.saveStep({ id: 'a', token: 'first' }, 'charge', '"ch_1"')
	await expect(async () =>
		store.complete({ id: 'a', token: 'first' }, response(200), RETENTION_MS),
	).rejects.toThrow('full')
	await runtime.advance(LEASE_MS)
	expect(await store.claim(request('a', 'second'))).toEqual({ kind: 'claimed', steps: { charge: '"ch_1"' } })
})
