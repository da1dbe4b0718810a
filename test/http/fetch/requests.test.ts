import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { explain } from 'yaoki'
import { MAX_BUFFERED_BYTES } from '../../../src/http/transport/buffered-body.ts'
import type { RequestBody } from '../../../src/http/transport/request.ts'
import { reset } from '../faults/fault-server.ts'
import { BUSY, FINE, failure, setup } from './setup.ts'

describe('a Request', () => {
	test('a Request without a body is retried unchanged', async () => {
		const { fetch, url, server } = await setup([BUSY, reset('request-head'), FINE])
		const request = new Request(`${url}orders?id=7`, { method: 'DELETE', headers: { 'x-own': 'yes' } })
		expect((await fetch(request)).status).toBe(200)
		expect(server.requests).toHaveLength(3)
		for (const seen of server.requests)
			expect(seen).toMatchObject({ method: 'DELETE', path: '/orders?id=7', headers: { 'x-own': 'yes' } })
	})

	test('a Request with a body above 1 MB is sent, and once only', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		const body = 'x'.repeat(MAX_BUFFERED_BYTES + 1)
		const response = await fetch(new Request(url, { method: 'PUT', body }))
		expect([response.status, explain(response)?.stop]).toEqual([503, 'body-used'])
		expect(server.requests.map((seen) => [seen.body === body, seen.headers['content-length']])).toEqual([
			[true, `${body.length}`],
		])
	})

	test('a Request with a body above 1 MB says why it was not retried', async () => {
		const { fetch, url } = await setup(reset('request-head'))
		const body = 'x'.repeat(MAX_BUFFERED_BYTES + 1)
		const error = await failure(fetch(new Request(url, { method: 'PUT', body })))
		expect(error.message).toContain('Pass body: () => a new stream')
	})

	test.each(['text', () => 'text'])(
		'is retried with the body of the init instead of its own',
		async (body) => {
			const { fetch, url, server } = await setup([BUSY, FINE])
			const request = new Request(url, { method: 'PUT', body: 'an order' })
			expect((await fetch(request, { body })).status).toBe(200)
			expect(server.requests.map((seen) => seen.body)).toEqual(['text', 'text'])
		},
	)

	test('keeps its body with body: null in the init, as with fetch (regression: it was retried without it)', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		const response = await fetch(new Request(url, { method: 'PUT', body: 'an order' }), { body: null })
		expect(response.status).toBe(200)
		expect(server.requests.map((seen) => seen.body)).toEqual(['an order', 'an order'])
	})

	test('uses method and headers of the init instead of its own', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE])
		const request = new Request(url, { method: 'POST', headers: { 'x-own': 'yes' } })
		await fetch(request, { method: 'PUT', headers: { 'x-other': 'yes' } })
		for (const { method, headers } of server.requests) {
			expect([method, headers['x-own'], headers['x-other']]).toEqual(['PUT', undefined, 'yes'])
		}
		expect(server.requests).toHaveLength(2)
	})

	test("gets a key with idempotency: 'auto', and keeps its own headers", async () => {
		const { fetch, url, server } = await setup([BUSY, FINE], { idempotency: 'auto' })
		await fetch(new Request(url, { method: 'POST', headers: { 'x-own': 'yes' } }))
		expect(server.requests.map(({ headers }) => headers['x-own'])).toEqual(['yes', 'yes'])
		const keys = new Set(server.requests.map(({ headers }) => headers['idempotency-key']))
		expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
	})

	test('keeps a key of its own', async () => {
		const { fetch, url, server } = await setup([BUSY, FINE], { idempotency: 'auto' })
		await fetch(new Request(url, { method: 'POST', headers: { 'Idempotency-Key': 'mine' } }))
		expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine'])
	})

	test('is ended by its own signal', async () => {
		const { fetch, url, waiting } = await setup(BUSY, { areWaitsHeld: true })
		const controller = new AbortController()
		const asked = failure(fetch(new Request(url, { signal: controller.signal })))
		await waiting
		const reason = new Error('changed my mind')
		controller.abort(reason)
		expect(await asked).toBe(reason)
	})

	test('ignores its own signal with signal: null in the init, as with fetch', async () => {
		const { fetch, url } = await setup(FINE)
		const request = new Request(url, { signal: AbortSignal.abort() })
		expect((await fetch(request, { signal: null })).status).toBe(200)
	})
})

describe('a body that was already read', () => {
	async function errorOf(body: RequestBody) {
		const { fetch, url, server } = await setup(FINE)
		const error = await failure(fetch(url, { method: 'PUT', body, duplex: 'half' }))
		expect(error).toBeInstanceOf(TypeError)
		expect(server.connections.opened).toBe(0)
		return error.message
	}

	test('is rejected with a clear message if it is locked, and nothing is sent', async () => {
		const body = new Blob(['once']).stream()
		body.getReader()
		expect(await errorOf(body)).toContain('Pass a new one, or body: () => a new stream')
	})

	test('is rejected if it was read and released, and nothing is sent', async () => {
		const body = new Blob(['once']).stream()
		const reader = body.getReader()
		await reader.read()
		reader.releaseLock()
		expect(await errorOf(body)).toMatch(/body/)
	})

	test('is rejected if it is a Node stream that was read, and nothing is sent', async () => {
		const body = Readable.from([Buffer.from('once')])
		for await (const _ of body);
		expect(await errorOf(body)).toMatch(/body/)
	})

	test.each([
		['read', (request: Request) => request.text()],
		['locked', (request: Request) => request.body?.getReader()],
	])('is rejected with a clear message in a Request that was %s, and nothing is sent', async (_, use) => {
		const { fetch, url, server } = await setup(FINE)
		const request = new Request(url, { method: 'PUT', body: 'an order' })
		await use(request)
		const error = await failure(fetch(request))
		expect(error).toBeInstanceOf(TypeError)
		expect(error.message).toContain('Pass a new one, or body: () => a new stream')
		expect(server.connections.opened).toBe(0)
	})

	test('does not matter if the init has another one', async () => {
		const { fetch, url, server } = await setup(FINE)
		const request = new Request(url, { method: 'PUT', body: 'an order' })
		await request.text()
		await fetch(request, { body: 'another' })
		expect(server.requests[0]?.body).toBe('another')
	})

	test('is rejected on the second attempt if a function returns the same one twice', async () => {
		const { fetch, url, server } = await setup(BUSY)
		const body = new Blob(['once']).stream()
		const error = await failure(fetch(url, { method: 'PUT', body: () => body }))
		expect(error).toBeInstanceOf(TypeError)
		expect(server.requests).toHaveLength(1)
	})
})
