import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import type { ResilientRequestInit } from 'yaoki/http'
import { reset } from '../faults/fault-server.ts'
import type { SeenRequest } from '../faults/ledger.ts'
import { BUSY, FINE, SENDERS, status } from './setup.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const keysOf = (requests: readonly SeenRequest[], name = 'idempotency-key') =>
	requests.map(({ headers }) => headers[name])

describe.each(SENDERS)('over $name', ({ setup }) => {
	describe("with idempotency: 'auto'", () => {
		test.each(['POST', 'PATCH', 'post', 'patch'])(
			'a %s has the same key in all its attempts',
			async (method) => {
				const { fetch, url, server } = await setup([BUSY, reset('request-head'), FINE], {
					idempotency: 'auto',
				})
				expect((await fetch(url, { method, body: 'an order' })).status).toBe(200)
				const [first, ...others] = keysOf(server.requests)
				expect(first).toMatch(UUID)
				expect(others).toEqual([first, first])
			},
		)

		test('every call has its own key', async () => {
			const { fetch, url, server } = await setup(FINE, { idempotency: 'auto' })
			for (let call = 0; call < 5; call++) await fetch(url, { method: 'POST' })
			expect(new Set(keysOf(server.requests)).size).toBe(5)
		})

		test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'QUERY', 'PURGE'])(
			'a %s gets no key',
			async (method) => {
				const { fetch, url, server } = await setup(FINE, { idempotency: 'auto' })
				await fetch(url, { method })
				expect(keysOf(server.requests)).toEqual([undefined])
			},
		)

		test('the key is sent in idempotencyHeader', async () => {
			const options = { idempotency: 'auto', idempotencyHeader: 'X-Request-Key' } as const
			const { fetch, url, server } = await setup([BUSY, FINE], options)
			await fetch(url, { method: 'POST' })
			const [first, second] = keysOf(server.requests, 'x-request-key')
			expect(first).toMatch(UUID)
			expect(second).toBe(first)
			expect(keysOf(server.requests)).toEqual([undefined, undefined])
		})
	})

	const OWN: Readonly<Record<string, () => ResilientRequestInit>> = {
		Headers: () => ({ headers: new Headers({ 'Idempotency-Key': 'mine' }) }),
		'an object': () => ({ headers: { 'Idempotency-Key': 'mine' } }),
		'an object in capitals': () => ({ headers: { 'IDEMPOTENCY-KEY': 'mine' } }),
		'a list': () => ({ headers: [['idempotency-KEY', 'mine']] }),
		'yaoki.idempotencyKey': () => ({ yaoki: { idempotencyKey: 'mine' } }),
		'a header, which beats yaoki.idempotencyKey': () => ({
			headers: { 'Idempotency-Key': 'mine' },
			yaoki: { idempotencyKey: 'other' },
		}),
	}

	describe.each(Object.entries(OWN))("the caller's own key in %s", (_, init) => {
		test.each(['manual', 'auto'] as const)(
			'wins, and is sent with every attempt (%s)',
			async (idempotency) => {
				const { fetch, url, server } = await setup([BUSY, FINE], { idempotency })
				await fetch(url, { method: 'POST', ...init() })
				expect(keysOf(server.requests)).toEqual(['mine', 'mine'])
			},
		)
	})

	test.each([
		['an object', { 'Idempotency-Key': ' ' }],
		['Headers', new Headers({ 'Idempotency-Key': '' })],
	])(
		'an empty key in %s is not a key (regression: a POST was retried with a key that was never sent)',
		async (_, headers) => {
			const { fetch, url, server } = await setup([BUSY, FINE], { idempotency: 'auto' })
			const response = await fetch(url, { method: 'POST', headers })
			expect(explain(response)?.stop).toBe('not-idempotent')
			expect(keysOf(server.requests)).toEqual([''])
		},
	)

	test("the caller's headers object is not changed", async () => {
		const { fetch, url } = await setup([BUSY, FINE], { idempotency: 'auto' })
		const headers = new Headers({ 'x-own': 'yes' })
		const init = { method: 'POST', headers }
		await fetch(url, init)
		expect([...headers]).toEqual([['x-own', 'yes']])
		expect(init).toEqual({ method: 'POST', headers })
	})

	describe('a 409', () => {
		const inProgress = status(409, { 'retry-after': '2' })

		test.each([
			['a key of its own', { headers: { 'idempotency-key': 'mine' } }, {}],
			['yaoki.idempotencyKey', { yaoki: { idempotencyKey: 'mine' } }, {}],
			['a key by itself', {}, { idempotency: 'auto' }],
		] as const)('with Retry-After to a request with %s is waited for', async (_, init, options) => {
			const { fetch, url, waits } = await setup([inProgress, FINE], options)
			const response = await fetch(url, { method: 'POST', ...init })
			expect(response.status).toBe(200)
			expect(explain(response)?.attempts[0]).toMatchObject({
				outcome: 'throttled',
				delaySource: 'retry-after',
			})
			expect(waits[0]).toBeGreaterThanOrEqual(2_000)
		})

		test('does not pause the origin', async () => {
			const { fetch, url, waits, waiting, server, time } = await setup([inProgress, FINE], {
				areWaitsHeld: true,
			})
			const first = fetch(url, { method: 'POST', headers: { 'idempotency-key': 'mine' } })
			await waiting
			expect((await fetch(url)).status).toBe(200)
			expect(waits).toHaveLength(1)
			await time.advance(3_000)
			expect((await first).status).toBe(200)
			expect(server.requests).toHaveLength(3)
		})

		test.each([
			['without Retry-After', status(409), { 'idempotency-key': 'mine' }],
			['with a malformed one', status(409, { 'retry-after': 'soon' }), { 'idempotency-key': 'mine' }],
			['with one, but to a request without a key', inProgress, {}],
		])('%s is final', async (_, step, headers) => {
			const { fetch, url, server } = await setup([step, FINE])
			const response = await fetch(url, { method: 'POST', headers })
			expect([response.status, explain(response)?.stop, server.requests.length]).toEqual([
				409,
				'permanent',
				1,
			])
		})

		test('a 409 with Retry-After to a PUT without a key is final: there is nothing in progress to wait for', async () => {
			const { fetch, url, server } = await setup([inProgress, FINE])
			expect((await fetch(url, { method: 'PUT' })).status).toBe(409)
			expect(server.requests).toHaveLength(1)
		})
	})

	test.each([{}, { 'retry-after': '1' }])(
		'a 422 is never retried, with or without a key (%j)',
		async (headers) => {
			const { fetch, url, server } = await setup([status(422, headers), FINE])
			const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': 'mine' } })
			expect([response.status, explain(response)?.stop, server.requests.length]).toEqual([
				422,
				'permanent',
				1,
			])
		},
	)
})
