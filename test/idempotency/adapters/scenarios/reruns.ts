import { expect, test } from 'vitest'
import type { IdempotencyOptions } from '../../../../src/idempotency/index.ts'
import { type Sent, send } from '../client.ts'
import { type Start, setup } from '../servers.ts'
import { observedStore } from '../stores.ts'
import { bytesOf, created } from './services.ts'

export function reruns(start: Start): void {
	test('runs again after a status that is not stored', async () => {
		let status = 0
		const { url, calls } = await setup(start, () => ({ status, body: 'x' }))
		for (status of [401, 403, 408, 409, 425, 429, 500, 503]) {
			expect((await send(url)).status).toBe(status)
			expect((await send(url)).status).toBe(status)
		}
		expect(calls()).toBe(16)
	})

	test('releases the key before the end of a response that is not stored', async () => {
		const { store, seen } = observedStore()
		const { url } = await setup(start, () => ({ status: 503, body: 'busy' }), { store })
		await send(url)
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
	})

	test('runs again after a handler that threw', async () => {
		const { store, seen } = observedStore()
		const { url, calls } = await setup(
			start,
			() => {
				throw new Error('boom')
			},
			{ store },
		)
		expect((await send(url)).status).toBe(500)
		expect(seen.releases).toBe(1)
		expect((await send(url)).status).toBe(500)
		expect(calls()).toBe(2)
	})

	test('runs again after a body that failed when the head was sent', async () => {
		async function* broken(): AsyncGenerator<Uint8Array> {
			yield bytesOf('a')
			await new Promise((resolve) => setImmediate(resolve))
			throw new Error('broken')
		}
		const { store, seen } = observedStore()
		const { url, calls } = await setup(start, () => ({ body: broken() }), { store })
		await expect(send(url)).rejects.toThrow()
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
		await expect(send(url)).rejects.toThrow()
		expect(calls()).toBe(2)
	})

	test('a predicate decides which responses are stored', async () => {
		const shouldStore: IdempotencyOptions['shouldStore'] = ({ status, method, path }) =>
			status === 503 && method === 'POST' && path === '/charges'
		const { url, calls } = await setup(start, () => ({ status: 503, body: 'x' }), { shouldStore })
		await send(url)
		expect((await send(url)).headers['idempotency-replayed']).toBe('true')
		expect(calls()).toBe(1)
	})

	test.each<[string, Sent]>([
		['without a key', { key: '' }],
		['for GET', { method: 'GET', key: ['a b', ''] }],
		['for HEAD', { method: 'HEAD' }],
		['for PUT', { method: 'PUT' }],
	])('runs each time %s', async (_, sent) => {
		const { url, calls } = await setup(start, (context) => ({
			headers: [['x-protected', String(context.isProtected)]],
			body: 'x',
		}))
		await send(url, sent)
		expect((await send(url, sent)).headers['x-protected']).toBe('false')
		expect(calls()).toBe(2)
	})

	test('runs for another user, route or method', async () => {
		const { url, calls } = await setup(start, created)
		await send(url)
		expect((await send(url, { user: 'bob' })).status).toBe(201)
		expect((await send(url, { path: '/refunds' })).status).toBe(201)
		expect((await send(url, { method: 'PATCH' })).status).toBe(201)
		expect(calls()).toBe(4)
	})
}
