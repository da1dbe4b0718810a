import { createServer } from 'node:http'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { YaokiError } from 'yaoki'
import { fetchIdempotency, type IdempotentFetchHandler } from '../../../src/idempotency/adapters/fetch.ts'
import { idempotency } from '../../../src/idempotency/engine/engine.ts'
import type { IdempotencyOptions } from '../../../src/idempotency/engine/options.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/store/memory-store.ts'
import { HEADERS } from './scenarios/services.ts'
import { listening } from './servers.ts'
import { transactionalStore } from './stores.ts'

type Handler = IdempotentFetchHandler<readonly unknown[]>

interface Sent {
	readonly key?: string | undefined
	readonly body?: string
	readonly user?: string
	readonly method?: string
	readonly path?: string
}

/** A handler that counts its calls. */
function setup(handle: Handler, options: Partial<IdempotencyOptions> = {}) {
	let calls = 0
	const engine = idempotency({
		store: memoryIdempotencyStore(),
		principal: ({ raw }) => (raw as Request).headers.get('x-user') ?? undefined,
		waitMs: 0,
		...options,
	})
	const fetch = fetchIdempotency(engine, (...args: Parameters<Handler>) => {
		calls++
		return handle(...args)
	})
	const send = ({
		key = 'k1',
		body = '{"amount":1}',
		user = 'ada',
		method = 'POST',
		path = '/charges',
	}: Sent = {}) => {
		const headers = new Headers({ 'content-type': 'application/json', 'x-user': user })
		if (key) headers.set('idempotency-key', key)
		const request = new Request(`https://shop.example.com${path}`, {
			method,
			headers,
			...(method === 'GET' ? {} : { body }),
		})
		return fetch(request)
	}
	return { engine, fetch, send, calls: () => calls }
}

const created: Handler = async (request) => Response.json(await request.json(), { status: 201 })

describe('a repeated request', () => {
	test('gets the same status, headers and bytes, and the handler runs once', async () => {
		const bytes = new Uint8Array([0, 255, 10, 13, 128])
		const { send, calls } = setup(
			async () =>
				new Response(bytes, {
					status: 202,
					headers: HEADERS,
				}),
		)
		const first = await send()
		expect(new Uint8Array(await first.arrayBuffer())).toEqual(bytes)
		expect(first.headers.get('idempotency-replayed')).toBeNull()
		const replay = await send()
		expect(replay.status).toBe(202)
		expect(new Uint8Array(await replay.arrayBuffer())).toEqual(bytes)
		expect(replay.headers.get('link')).toBe('<a>; rel=next, <b>; rel=prev')
		expect(replay.headers.get('idempotency-replayed')).toBe('true')
		expect([replay.headers.get('set-cookie'), replay.headers.get('x-request-id')]).toEqual([null, null])
		expect(calls()).toBe(1)
	})

	test('gets 422 if it has another body', async () => {
		const { send, calls } = setup(created)
		await (await send()).text()
		const response = await send({ body: '{"amount":2}' })
		expect(response.status).toBe(422)
		expect(response.headers.get('content-type')).toBe('application/problem+json')
		expect(await response.json()).toMatchObject({ status: 422, code: 'idempotency-key-reused' })
		expect(calls()).toBe(1)
	})

	test('runs if it is from another user', async () => {
		const { send, calls } = setup(created)
		await (await send()).text()
		expect((await send({ user: 'bob' })).status).toBe(201)
		expect(calls()).toBe(2)
	})

	test('gets 409 with Retry-After while the first request runs', async () => {
		let finish = () => {}
		const running = new Promise<void>((resolve) => {
			finish = resolve
		})
		const { send } = setup(async () => {
			await running
			return new Response('done')
		})
		const first = send()
		await new Promise((resolve) => setImmediate(resolve))
		const second = await send()
		expect(second.status).toBe(409)
		expect(['3', '4', '5']).toContain(second.headers.get('retry-after'))
		finish()
		expect(await (await first).text()).toBe('done')
	})

	test.each([401, 403, 408, 409, 425, 429, 500, 503])(
		'runs after a response with status %i',
		async (status) => {
			const { send, calls } = setup(async () => new Response('x', { status }))
			expect((await send()).status).toBe(status)
			expect((await send()).status).toBe(status)
			expect(calls()).toBe(2)
		},
	)

	test('runs after a handler that threw', async () => {
		const { send, calls } = setup(async () => {
			throw new Error('boom')
		})
		await expect(send()).rejects.toThrow('boom')
		await expect(send()).rejects.toThrow('boom')
		expect(calls()).toBe(2)
	})

	test('runs after a body that failed', async () => {
		const { send, calls } = setup(
			async () =>
				new Response(
					new ReadableStream({
						start(controller) {
							controller.enqueue(new Uint8Array([1]))
						},
						pull() {
							throw new Error('broken')
						},
					}),
				),
		)
		await expect((await send()).text()).rejects.toThrow('broken')
		await expect((await send()).text()).rejects.toThrow('broken')
		expect(calls()).toBe(2)
	})

	test('gets 409 without Retry-After if the response was too large, and the first is delivered', async () => {
		const { send, calls } = setup(async () => new Response('x'.repeat(100)), { maxBodyBytes: 99 })
		expect(await (await send()).text()).toHaveLength(100)
		const second = await send()
		expect([second.status, second.headers.get('retry-after')]).toEqual([409, null])
		expect(await second.json()).toMatchObject({ code: 'response-not-stored' })
		expect(calls()).toBe(1)
	})

	test('gets the whole response of a client that disconnected', async () => {
		const { send, calls } = setup(async () => {
			let chunk = 0
			return new Response(
				new ReadableStream({
					pull(controller) {
						controller.enqueue(new TextEncoder().encode(String(chunk++)))
						if (chunk === 5) controller.close()
					},
				}),
			)
		})
		await (await send()).body?.cancel()
		await new Promise((resolve) => setImmediate(resolve))
		expect(await (await send()).text()).toBe('01234')
		expect(calls()).toBe(1)
	})

	test('gets a response without a body again', async () => {
		const { send, calls } = setup(async () => new Response(null, { status: 204 }))
		expect((await send()).status).toBe(204)
		expect((await send()).status).toBe(204)
		expect(calls()).toBe(1)
	})
})

describe('the handler runs each time', () => {
	test.each<[string, Sent]>([
		['without a key', { key: '' }],
		['for GET', { method: 'GET' }],
		['for PUT', { method: 'PUT' }],
	])('%s', async (_, sent) => {
		const { send, calls } = setup(async () => new Response('x'))
		await send(sent)
		await send(sent)
		expect(calls()).toBe(2)
	})
})

describe('the handler does not run', () => {
	test.each<[string, Sent, number, string]>([
		['without a key where it is required', { key: '' }, 400, 'idempotency-key-missing'],
		['for a malformed key', { key: 'a b' }, 400, 'idempotency-key-malformed'],
		['for two different keys', { key: 'a, b' }, 400, 'idempotency-key-malformed'],
		['without a principal', { user: '' }, 401, 'principal-missing'],
	])('%s', async (_, sent, status, code) => {
		const { send, calls } = setup(created, { required: true })
		const response = await send(sent)
		expect(response.status).toBe(status)
		expect(await response.json()).toMatchObject({ status, code })
		expect(calls()).toBe(0)
	})

	test('and the client gets 503 with Retry-After if the store fails', async () => {
		const store = memoryIdempotencyStore()
		const failing = { ...store, claim: () => Promise.reject(new Error('down')) }
		const { send, calls } = setup(created, { store: failing as typeof store })
		const response = await send()
		expect(response.status).toBe(503)
		expect(['1', '2']).toContain(response.headers.get('retry-after'))
		expect(calls()).toBe(0)
	})

	test('and the client gets 400 if the body is cut off', async () => {
		const { fetch, calls } = setup(created)
		const body = new ReadableStream({
			start: (controller) => controller.error(new Error('reset')),
		})
		const headers = { 'idempotency-key': 'k1', 'x-user': 'ada' }
		const init = { method: 'POST', body, headers, duplex: 'half' }
		const request = new Request('https://shop.example.com/', init)
		const response = await fetch(request)
		expect(response.status).toBe(400)
		expect(await response.json()).toMatchObject({ code: 'request-body-incomplete' })
		expect(calls()).toBe(0)
	})
})

test('the handler runs unprotected with onStoreError: pass if the store fails', async () => {
	const store = memoryIdempotencyStore()
	const failing = { ...store, claim: () => Promise.reject(new Error('down')) } as typeof store
	const protections: boolean[] = []
	const { send } = setup(
		async (request, context) => {
			protections.push(context.isProtected)
			return new Response(await request.text())
		},
		{ store: failing, onStoreError: 'pass' },
	)
	expect(await (await send()).text()).toBe('{"amount":1}')
	expect(protections).toEqual([false])
})

test('forwards what the platform passes after the request, and uses its waitUntil', async () => {
	const waited: Promise<unknown>[] = []
	const context = { waitUntil: (promise: Promise<unknown>) => waited.push(promise) }
	const { fetch } = setup(async (_, __, env) => new Response(String(env)))
	const headers = { 'idempotency-key': 'k1', 'x-user': 'ada' }
	const response = await fetch(
		new Request('https://shop.example.com/', { method: 'POST', headers }),
		'env',
		context,
	)
	await response.body?.cancel()
	expect(waited).toHaveLength(1)
})

// Without ctx, the rest of a response was not stored after the client had left, and repeated requests ran again.
describe('in Workers', () => {
	afterEach(() => vi.unstubAllGlobals())

	const keyed = () =>
		new Request('https://shop.example.com/', {
			method: 'POST',
			headers: { 'idempotency-key': 'k1', 'x-user': 'ada' },
		})

	test.each([
		['by WebSocketPair', () => vi.stubGlobal('WebSocketPair', class {})],
		['by their user agent', () => vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })],
	])('%s, a request with a key and without ctx is an error before anything runs', async (_, stub) => {
		stub()
		const claim = vi.fn()
		const { fetch, calls } = setup(async () => new Response('done'), {
			name: 'shop',
			store: { ...memoryIdempotencyStore(), claim },
		})
		const error = await fetch(keyed()).catch((thrown) => thrown)
		expect(error).toBeInstanceOf(YaokiError)
		expect(error.code).toBe('YAOKI_IDEMPOTENCY_NO_WAIT_UNTIL')
		expect(error.message).toContain('handler(request, env, ctx)')
		expect([calls(), claim.mock.calls]).toEqual([0, []])
	})

	test('a request without a key runs without ctx', async () => {
		vi.stubGlobal('WebSocketPair', class {})
		const { send } = setup(async () => new Response('done'))
		expect(await (await send({ key: '' })).text()).toBe('done')
	})

	test('ctx is used', async () => {
		vi.stubGlobal('WebSocketPair', class {})
		const waitUntil = vi.fn()
		const { fetch } = setup(async () => new Response('done'))
		await (await fetch(keyed(), {}, { waitUntil })).body?.cancel()
		expect(waitUntil).toHaveBeenCalledOnce()
	})

	test('the option waitUntil is used without ctx', async () => {
		vi.stubGlobal('WebSocketPair', class {})
		const waitUntil = vi.fn()
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
		const handle = fetchIdempotency(engine, () => new Response('done'), { waitUntil })
		await (await handle(keyed())).body?.cancel()
		expect(waitUntil).toHaveBeenCalledOnce()
	})
})

test.each([
	[{ waitUntil: 3 }, 'Invalid option "waitUntil"'],
	[{ waituntil: () => {} }, 'Did you mean "waitUntil"?'],
])('rejects the options %j', (options, message) => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
	expect(() => fetchIdempotency(engine, () => new Response(), options as object)).toThrow(message)
})

/** Like `NextRequest`: a subclass whose getters read private fields. */
class PlatformRequest extends Request {
	readonly #url = new URL(this.url)

	get nextUrl(): URL {
		return this.#url
	}
}

describe('the handler gets the request itself', () => {
	const charge = () =>
		new PlatformRequest('https://shop.example.com/charges?a=1', {
			method: 'POST',
			headers: { 'idempotency-key': 'k1', 'content-type': 'application/x-www-form-urlencoded' },
			body: 'amount=1',
		})

	// It got a new Request with a key, so `request.nextUrl` was undefined in Next.js.
	test.each<[string, (request: PlatformRequest) => unknown]>([
		['text', (request) => request.text()],
		['arrayBuffer', async (request) => new TextDecoder().decode(await request.arrayBuffer())],
		['blob', async (request) => (await request.blob()).text()],
		['formData', async (request) => `amount=${(await request.formData()).get('amount')}`],
		['body', (request) => new Response(request.body).text()],
		['clone', async (request) => (await request.clone().text()) && request.text()],
		['a copy', (request) => new Request(request).text()],
		['a copy with another URL', (request) => new Request('https://other.example.com/', request).text()],
	])('and reads it with %s', async (_, read) => {
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
		const handle = fetchIdempotency(engine, async (request: PlatformRequest) => {
			expect(request.bodyUsed).toBe(false)
			return Response.json([request === sent, request.nextUrl.search, await read(request)])
		})
		const sent = charge()
		expect(await (await handle(sent)).json()).toEqual([true, '?a=1', 'amount=1'])
		expect((await handle(charge())).headers.get('idempotency-replayed')).toBe('true')
		// @ts-expect-error: the handler needs the class of its platform.
		handle(new Request('https://shop.example.com/')).catch(() => {})
	})

	test('the handler passes the request on with fetch', async () => {
		const url = await listening(createServer((request, response) => void request.pipe(response)))
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
		const handle = fetchIdempotency(engine, (request: Request) => fetch(request))
		const headers = { 'idempotency-key': 'k1' }
		const response = await handle(new Request(url, { method: 'POST', headers, body: 'passed on' }))
		expect(await response.text()).toBe('passed on')
	})
})

describe('an untyped program', () => {
	test('gets the request rejected if principal returns null (regression: all such callers shared their keys)', async () => {
		const { send, calls } = setup(created, { principal: () => null as never })
		expect((await send()).status).toBe(401)
		expect(calls()).toBe(0)
	})

	test('gets an error if principal returns a number', async () => {
		const { send, calls } = setup(created, { principal: () => 7 as never })
		await expect(send()).rejects.toThrow(
			'Invalid option "principal": expected a function that returns a string, got 7',
		)
		expect(calls()).toBe(0)
	})
})

describe('a step', () => {
	test.each(['k1', ''])('returns in the first run what a later one would read (key %j)', async (key) => {
		const { send } = setup(async (_request, context) => {
			const at: string = await context.step('clock', () => new Date(0))
			const nothing = await context.step('nothing', () => undefined)
			return Response.json([at, nothing === undefined])
		})
		expect(await (await send({ key })).json()).toEqual(['1970-01-01T00:00:00.000Z', true])
	})
})

// The key was released a second time, which was reported as a lost lease.
test('a handler that throws after its transaction has committed releases nothing', async () => {
	const engine = idempotency({ store: transactionalStore(), name: 'shop', principal: () => 'ada' })
	const types: string[] = []
	engine.subscribe(({ type }) => types.push(type))
	const handle = fetchIdempotency(engine, async (_: Request, context) => {
		await context.transaction(async () => Response.json({}, { status: 201 }))
		throw new Error('after the commit')
	})
	const request = () =>
		new Request('https://shop.example.com/orders', { method: 'POST', headers: { 'idempotency-key': 'k1' } })
	await expect(handle(request())).rejects.toThrow('after the commit')
	expect((await handle(request())).status).toBe(201)
	expect(types).not.toContain('idempotency_fenced')
})
