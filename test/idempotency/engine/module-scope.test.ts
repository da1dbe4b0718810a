/** Workers reject randomness, timers and I/O outside of a request: `idempotency(...)` at module level threw. */
import { afterEach, expect, test, vi } from 'vitest'
import { fetchIdempotency } from '../../../src/idempotency/adapters/fetch.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'

afterEach(() => vi.restoreAllMocks())

const disallowed = () => {
	throw new Error('Disallowed operation called within global scope')
}

test('an engine is created without randomness and timers, and has them in a request', async () => {
	const spies = [
		vi.spyOn(crypto, 'randomUUID').mockImplementation(disallowed),
		vi.spyOn(crypto, 'getRandomValues').mockImplementation(disallowed),
		vi.spyOn(Math, 'random').mockImplementation(disallowed),
		vi.spyOn(globalThis, 'setTimeout').mockImplementation(disallowed),
		vi.spyOn(globalThis, 'setInterval').mockImplementation(disallowed),
	]
	const engine = idempotency({ name: 'shop', store: memoryIdempotencyStore(), principal: () => 'ada' })
	const handle = fetchIdempotency(engine, () => new Response('created', { status: 201 }))
	for (const spy of spies) spy.mockRestore()
	const post = () =>
		handle(new Request('http://shop.test/', { method: 'POST', headers: { 'idempotency-key': 'k1' } }))
	await (await post()).text()
	expect((await post()).headers.get('idempotency-replayed')).toBe('true')
})
