import { expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { memoryIdempotencyStore } from '../../../../src/idempotency/index.ts'
import { type Sent, send } from '../client.ts'
import { type Service, type Start, setup } from '../servers.ts'
import { observedStore, storeWith } from '../stores.ts'
import { chunks, created } from './services.ts'

export function rejections(start: Start): void {
	test.each<[string, Sent, number, string]>([
		['without a key where it is required', { key: '' }, 400, 'idempotency-key-missing'],
		['for an empty key', { key: [''] }, 400, 'idempotency-key-malformed'],
		['for an empty quoted key', { key: '""' }, 400, 'idempotency-key-malformed'],
		['for a key of 10 kB', { key: 'k'.repeat(10_240) }, 400, 'idempotency-key-malformed'],
		['for a control character', { key: 'a\tb' }, 400, 'idempotency-key-malformed'],
		['for a character outside of ASCII', { key: 'k\u00e9y' }, 400, 'idempotency-key-malformed'],
		['for two different keys', { key: ['a', 'b'] }, 400, 'idempotency-key-malformed'],
		['without a principal', { user: '' }, 401, 'principal-missing'],
	])('does not ask the store %s', async (_, sent, status, code) => {
		const { store, seen } = observedStore()
		const { url, calls } = await setup(start, created, { store, required: true })
		const response = await send(url, sent)
		expect([response.status, response.code]).toEqual([status, code])
		expect(response.headers['cache-control']).toBe('no-store')
		expect([seen.claims, calls()]).toEqual([0, 0])
	})

	test('accepts the same key twice, quoted and bare', async () => {
		const { url, calls } = await setup(start, created)
		expect((await send(url, { key: ['a', '"a"'] })).status).toBe(201)
		expect((await send(url, { key: '"a"' })).headers['idempotency-replayed']).toBe('true')
		expect(calls()).toBe(1)
	})

	test('rejects another body with the same key', async () => {
		const { url, calls } = await setup(start, created)
		await send(url)
		const response = await send(url, { body: '{"amount":2}' })
		expect([response.status, response.code]).toEqual([422, 'idempotency-key-reused'])
		expect((await send(url, { path: '/charges?a=1' })).status).toBe(422)
		expect(calls()).toBe(1)
	})

	test('rejects a repetition while the first request runs', async () => {
		const running = Promise.withResolvers<void>()
		const entered = Promise.withResolvers<void>()
		const { url } = await setup(start, async () => {
			entered.resolve()
			await running.promise
			return { body: 'done' }
		})
		const first = send(url)
		await entered.promise
		const second = await send(url)
		expect([second.status, second.code]).toEqual([409, 'request-in-progress'])
		expect(['3', '4', '5']).toContain(second.headers['retry-after'])
		running.resolve()
		expect((await first).body.toString()).toBe('done')
	})

	test.each<[string, Service]>([
		['a body', () => ({ body: 'x'.repeat(100) })],
		['a streamed body', () => ({ body: chunks(4, undefined, 25) })],
	])('delivers %s that is too large to store, and rejects repetitions', async (_, service) => {
		const { url, calls } = await setup(start, service, { maxBodyBytes: 99 })
		expect((await send(url)).body).toHaveLength(100)
		const second = await send(url)
		expect([second.status, second.code, second.headers['retry-after']]).toEqual([
			409,
			'response-not-stored',
			undefined,
		])
		expect(calls()).toBe(1)
	})

	test('rejects repetitions of a request whose outcome is unknown', async () => {
		const runtime = virtualRuntime()
		const store = memoryIdempotencyStore({ runtime })
		const leased = Promise.withResolvers<void>()
		const entered = Promise.withResolvers<void>()
		const { url } = await setup(
			start,
			async () => {
				entered.resolve()
				await leased.promise
				return {}
			},
			{ store, abandoned: 'reject' },
		)
		const first = send(url)
		await entered.promise
		await runtime.advance(60_001)
		const second = await send(url)
		expect([second.status, second.code, second.headers['retry-after']]).toEqual([
			409,
			'request-outcome-unknown',
			undefined,
		])
		leased.resolve()
		await first
	})

	test('rejects requests while the store fails', async () => {
		const store = storeWith({ claim: () => Promise.reject(new Error('down')) })
		const { url, calls } = await setup(start, created, { store })
		const response = await send(url)
		expect([response.status, response.code]).toEqual([503, 'idempotency-store-unavailable'])
		expect(['1', '2']).toContain(response.headers['retry-after'])
		expect(calls()).toBe(0)
	})

	test('runs without protection while the store fails if onStoreError is pass', async () => {
		const store = storeWith({ claim: () => Promise.reject(new Error('down')) })
		const { url, calls } = await setup(
			start,
			({ isProtected }, body) => ({ body: `${isProtected} ${body}` }),
			{ store, onStoreError: 'pass' },
		)
		expect((await send(url)).body.toString()).toBe('false {"amount":1}')
		expect((await send(url)).status).toBe(200)
		expect(calls()).toBe(2)
	})

	test('releases a claim that the store confirms after its timeout', async () => {
		const base = memoryIdempotencyStore()
		const late = Promise.withResolvers<void>()
		const released = Promise.withResolvers<void>()
		let isSlow = true
		const store = storeWith(
			{
				claim: async (request) => {
					if (isSlow) await late.promise
					return base.claim(request)
				},
				release: (claim) => {
					const result = base.release(claim)
					released.resolve()
					return result
				},
			},
			base,
		)
		const { url, calls } = await setup(start, created, { store, storeTimeoutMs: 20 })
		expect((await send(url)).status).toBe(503)
		isSlow = false
		late.resolve()
		await released.promise
		expect((await send(url)).status).toBe(201)
		expect(calls()).toBe(1)
	})

	test('delivers the response if it cannot be stored', async () => {
		const store = storeWith({ complete: () => Promise.reject(new Error('down')) })
		const { url } = await setup(start, created, { store })
		expect((await send(url)).status).toBe(201)
	})
}
