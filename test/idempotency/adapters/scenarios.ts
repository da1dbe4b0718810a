/** What every adapter does alike. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import type { IdempotencyOptions } from '../../../src/idempotency/index.ts'
import { memoryIdempotencyStore } from '../../../src/idempotency/index.ts'
import { type Sent, send, sendAndDisconnect } from './client.ts'
import { type Service, type Start, type servers, setting } from './servers.ts'
import { observedStore, storeWith, transactionalStore } from './stores.ts'

const BINARY = new Uint8Array(256).map((_, at) => at)

const created: Service = (_, body) => ({
	status: 201,
	headers: [['content-type', 'application/json']],
	body: body.toString(),
})

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Chunks that are sent one after the other; `gate` is awaited after the first. */
async function* chunks(count: number, gate?: Promise<unknown>, size = 1): AsyncGenerator<Uint8Array> {
	for (let at = 0; at < count; at++) {
		yield bytesOf(String(at).repeat(size))
		await (at === 0 ? gate : new Promise((resolve) => setImmediate(resolve)))
	}
}

export function runScenarios(named: typeof servers): void {
	describe.each(named)('%s', (_, start) => {
		replays(start)
		reruns(start)
		rejections(start)
		requests(start)
		disconnects(start)
		contexts(start)
	})
}

function replays(start: Start): void {
	test('replays status, repeated headers and binary body, and the handler runs once', async () => {
		const { url, calls } = await setting(start, () => ({
			status: 202,
			headers: [
				['content-type', 'application/octet-stream'],
				['link', '<a>; rel=next'],
				['link', '<b>; rel=prev'],
				['set-cookie', 'session=1'],
				['x-request-id', '7'],
			],
			body: BINARY,
		}))
		const first = await send(url)
		expect([first.status, first.headers['idempotency-replayed']]).toEqual([202, undefined])
		expect(first.lines('set-cookie')).toEqual(['session=1'])
		const replay = await send(url)
		expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([202, 'true'])
		expect(replay.headers['content-type']).toBe('application/octet-stream')
		expect(replay.lines('link').join(', ')).toBe('<a>; rel=next, <b>; rel=prev')
		expect([replay.headers['set-cookie'], replay.headers['x-request-id']]).toEqual([undefined, undefined])
		expect([new Uint8Array(first.body), new Uint8Array(replay.body)]).toEqual([BINARY, BINARY])
		expect(replay.headers['content-length']).toBe('256')
		expect(calls()).toBe(1)
	})

	test('replays cookies one by one if they are allowed', async () => {
		const { url } = await setting(
			start,
			() => ({
				headers: [
					['set-cookie', 'a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT'],
					['set-cookie', 'b=2'],
				],
				body: 'x',
			}),
			{ responseHeaders: ['Set-Cookie'] },
		)
		const first = await send(url)
		expect((await send(url)).lines('set-cookie')).toEqual(first.lines('set-cookie'))
		expect(first.lines('set-cookie')).toHaveLength(2)
	})

	test('replays a streamed body', async () => {
		const { url, calls } = await setting(start, () => ({ body: chunks(5) }))
		expect((await send(url)).body.toString()).toBe('01234')
		const replay = await send(url)
		expect([replay.body.toString(), replay.headers['content-length']]).toEqual(['01234', '5'])
		expect(calls()).toBe(1)
	})

	test('delivers the start of a streamed body before its end', async () => {
		const gate = Promise.withResolvers<void>()
		const { url } = await setting(start, () => ({ body: chunks(3, gate.promise) }))
		const headers = { 'idempotency-key': 'k1', 'x-user': 'ada', 'content-type': 'application/json' }
		const response = await fetch(`${url}/charges`, { method: 'POST', headers, body: '{"amount":1}' })
		const reader = response.body?.getReader()
		expect((await reader?.read())?.value).toEqual(bytesOf('0'))
		gate.resolve()
		while (!(await reader?.read())?.done);
		expect((await send(url)).body.toString()).toBe('012')
	})

	test('replays responses without a body', async () => {
		const { url, calls } = await setting(start, () => ({ status: 204 }))
		expect((await send(url)).status).toBe(204)
		const replay = await send(url)
		expect([replay.status, replay.body.length, replay.headers['idempotency-replayed']]).toEqual([
			204,
			0,
			'true',
		])
		expect(calls()).toBe(1)
	})

	test('stores the response before its end is sent', async () => {
		const { store, seen } = observedStore()
		const { url } = await setting(start, created, { store })
		await send(url)
		expect(seen).toEqual({ claims: 1, releases: 0, completions: 1 })
	})

	test('waits up to waitMs for the first request', async () => {
		const running = Promise.withResolvers<void>()
		const { url, calls, engine } = await setting(
			start,
			async () => {
				await running.promise
				return { body: 'done' }
			},
			{ waitMs: 60_000 },
		)
		const claimed = Promise.withResolvers<void>()
		engine.subscribe(() => claimed.resolve())
		const first = send(url)
		await claimed.promise
		const second = send(url)
		running.resolve()
		expect((await first).body.toString()).toBe('done')
		expect([(await second).body.toString(), (await second).headers['idempotency-replayed']]).toEqual([
			'done',
			'true',
		])
		expect(calls()).toBe(1)
	})
}

function reruns(start: Start): void {
	test('runs again after a status that is not stored', async () => {
		let status = 0
		const { url, calls } = await setting(start, () => ({ status, body: 'x' }))
		for (status of [401, 403, 408, 409, 425, 429, 500, 503]) {
			expect((await send(url)).status).toBe(status)
			expect((await send(url)).status).toBe(status)
		}
		expect(calls()).toBe(16)
	})

	test('releases the key before the end of a response that is not stored', async () => {
		const { store, seen } = observedStore()
		const { url } = await setting(start, () => ({ status: 503, body: 'busy' }), { store })
		await send(url)
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
	})

	test('runs again after a handler that threw', async () => {
		const { store, seen } = observedStore()
		const { url, calls } = await setting(
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
		const { url, calls } = await setting(start, () => ({ body: broken() }), { store })
		await expect(send(url)).rejects.toThrow()
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
		await expect(send(url)).rejects.toThrow()
		expect(calls()).toBe(2)
	})

	test('a predicate decides which responses are stored', async () => {
		const shouldStore: IdempotencyOptions['shouldStore'] = ({ status, method, path }) =>
			status === 503 && method === 'POST' && path === '/charges'
		const { url, calls } = await setting(start, () => ({ status: 503, body: 'x' }), { shouldStore })
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
		const { url, calls } = await setting(start, (context) => ({
			headers: [['x-protected', String(context.isProtected)]],
			body: 'x',
		}))
		await send(url, sent)
		expect((await send(url, sent)).headers['x-protected']).toBe('false')
		expect(calls()).toBe(2)
	})

	test('runs for another user, route or method', async () => {
		const { url, calls } = await setting(start, created)
		await send(url)
		expect((await send(url, { user: 'bob' })).status).toBe(201)
		expect((await send(url, { path: '/refunds' })).status).toBe(201)
		expect((await send(url, { method: 'PATCH' })).status).toBe(201)
		expect(calls()).toBe(4)
	})
}

function rejections(start: Start): void {
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
		const { url, calls } = await setting(start, created, { store, required: true })
		const response = await send(url, sent)
		expect([response.status, response.code]).toEqual([status, code])
		expect(response.headers['cache-control']).toBe('no-store')
		expect([seen.claims, calls()]).toEqual([0, 0])
	})

	test('accepts the same key twice, quoted and bare', async () => {
		const { url, calls } = await setting(start, created)
		expect((await send(url, { key: ['a', '"a"'] })).status).toBe(201)
		expect((await send(url, { key: '"a"' })).headers['idempotency-replayed']).toBe('true')
		expect(calls()).toBe(1)
	})

	test('rejects another body with the same key', async () => {
		const { url, calls } = await setting(start, created)
		await send(url)
		const response = await send(url, { body: '{"amount":2}' })
		expect([response.status, response.code]).toEqual([422, 'idempotency-key-reused'])
		expect((await send(url, { path: '/charges?a=1' })).status).toBe(422)
		expect(calls()).toBe(1)
	})

	test('rejects a repetition while the first request runs', async () => {
		const running = Promise.withResolvers<void>()
		const entered = Promise.withResolvers<void>()
		const { url } = await setting(start, async () => {
			entered.resolve()
			await running.promise
			return { body: 'done' }
		})
		const first = send(url)
		await entered.promise
		const second = await send(url)
		expect([second.status, second.code, second.headers['retry-after']]).toEqual([
			409,
			'request-in-progress',
			'60',
		])
		running.resolve()
		expect((await first).body.toString()).toBe('done')
	})

	test.each<[string, Service]>([
		['a body', () => ({ body: 'x'.repeat(100) })],
		['a streamed body', () => ({ body: chunks(4, undefined, 25) })],
	])('delivers %s that is too large to store, and rejects repetitions', async (_, service) => {
		const { url, calls } = await setting(start, service, { maxBodyBytes: 99 })
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
		const { url } = await setting(
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
		const { url, calls } = await setting(start, created, { store })
		const response = await send(url)
		expect([response.status, response.code, response.headers['retry-after']]).toEqual([
			503,
			'idempotency-store-unavailable',
			'5',
		])
		expect(calls()).toBe(0)
	})

	test('runs without protection while the store fails if onStoreError is pass', async () => {
		const store = storeWith({ claim: () => Promise.reject(new Error('down')) })
		const { url, calls } = await setting(
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
		const { url, calls } = await setting(start, created, { store, storeTimeoutMs: 20 })
		expect((await send(url)).status).toBe(503)
		isSlow = false
		late.resolve()
		await released.promise
		expect((await send(url)).status).toBe(201)
		expect(calls()).toBe(1)
	})

	test('delivers the response if it cannot be stored', async () => {
		const store = storeWith({ complete: () => Promise.reject(new Error('down')) })
		const { url } = await setting(start, created, { store })
		expect((await send(url)).status).toBe(201)
	})
}

function requests(start: Start): void {
	test('passes the body to the handler unchanged', async () => {
		const { url } = await setting(start, (_, body) => ({ body }))
		const body = new Uint8Array(200_000).map((_, at) => at % 251)
		const headers = { 'content-type': 'application/octet-stream' }
		expect(new Uint8Array((await send(url, { body, headers })).body)).toEqual(body)
		const chunked = { ...headers, 'transfer-encoding': 'chunked' }
		expect(new Uint8Array((await send(url, { key: 'k2', body, headers: chunked })).body)).toEqual(body)
		const empty = await send(url, { key: 'k3', body: '', headers: chunked })
		expect([empty.status, empty.body.length]).toEqual([200, 0])
		const none = await send(url, { key: 'k4', body: '', headers: { ...headers, 'content-length': '0' } })
		expect([none.status, none.body.length]).toEqual([200, 0])
	})

	test('accepts Expect: 100-continue', async () => {
		const { url } = await setting(start, created)
		expect((await send(url, { headers: { expect: '100-continue' } })).body.toString()).toBe('{"amount":1}')
	})

	test('rejects a body that is too large', async () => {
		const { store, seen } = observedStore()
		const { url, calls } = await setting(start, created, { store, maxRequestBytes: 1_999 })
		const response = await send(url, { body: 'x'.repeat(2_000) })
		expect(response.status).toBe(413)
		// Fastify's parser has its own text.
		expect(response.body.toString()).toMatch(/"code":"(request-body-too-large|FST_ERR_CTP_BODY_TOO_LARGE)"/)
		expect([seen.claims, calls()]).toEqual([0, 0])
		expect((await send(url, { body: 'x'.repeat(1_999) })).status).toBe(201)
	})

	test('rejects a chunked body that is too large without reading it all', async () => {
		const { store, seen } = observedStore()
		const { url } = await setting(start, created, { store, maxRequestBytes: 1_000 })
		const socket = connect(Number(new URL(url).port), '127.0.0.1')
		const head = [
			'POST /charges HTTP/1.1',
			'Host: localhost',
			'Content-Type: application/octet-stream',
			'X-User: ada',
			'Idempotency-Key: k1',
			'Transfer-Encoding: chunked',
			'',
			'',
		].join('\r\n')
		// The last chunk is never sent.
		socket.write(`${head}7d0\r\n${'x'.repeat(2_000)}\r\n`)
		const [first] = await once(socket, 'data')
		expect(String(first)).toMatch(/^HTTP\/1.1 413 /)
		socket.destroy()
		expect(seen.claims).toBe(0)
	})

	test.each([
		['a chunked body that is cut off', 'Transfer-Encoding: chunked\r\n\r\nff\r\nabc'],
		['a body that is shorter than its length', 'Content-Length: 10\r\n\r\nabc'],
		['a malformed chunk', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'],
	])('claims nothing for %s', async (_, rest) => {
		const { store, seen } = observedStore()
		const { url, calls } = await setting(start, created, { store })
		const socket = connect(Number(new URL(url).port), '127.0.0.1')
		let received = ''
		socket.on('data', (data) => {
			received += data
		})
		socket.end(
			`POST /charges HTTP/1.1\r\nHost: localhost\r\nX-User: ada\r\nIdempotency-Key: k1\r\nContent-Type: application/octet-stream\r\n${rest}`,
		)
		await once(socket, 'close')
		if (received) expect(received).toMatch(/^HTTP\/1.1 400 /)
		expect([seen.claims, calls()]).toEqual([0, 0])
	})
}

function disconnects(start: Start): void {
	test('stores the response of a client that disconnected while the handler ran', async () => {
		const { store, ended } = observedStore()
		const entered = Promise.withResolvers<void>()
		const gone = Promise.withResolvers<void>()
		const { url, calls } = await setting(
			start,
			async (_, body) => {
				entered.resolve()
				await gone.promise
				return { status: 201, body: body.toString() }
			},
			{ store },
		)
		await sendAndDisconnect(url, entered.promise)
		gone.resolve()
		await ended
		const replay = await send(url)
		expect([replay.status, replay.body.toString()]).toEqual([201, '{"amount":1}'])
		expect(calls()).toBe(1)
	})

	test('runs the handler for a client that disconnected while the store was asked, and stores its response', async () => {
		const base = memoryIdempotencyStore()
		const asked = Promise.withResolvers<void>()
		const gone = Promise.withResolvers<void>()
		const slow = storeWith(
			{
				claim: async (request) => {
					asked.resolve()
					await gone.promise
					return base.claim(request)
				},
			},
			base,
		)
		const { store, ended } = observedStore(slow)
		const { url, calls } = await setting(start, created, { store })
		await sendAndDisconnect(url, asked.promise)
		// The server notices it after the client.
		for (let at = 0; at < 20; at++) await new Promise((resolve) => setImmediate(resolve))
		gone.resolve()
		await ended
		expect((await send(url)).body.toString()).toBe('{"amount":1}')
		expect(calls()).toBe(1)
	})

	test('stores the whole stream of a client that disconnected in between', async () => {
		const { store, ended } = observedStore()
		const started = Promise.withResolvers<void>()
		const gone = Promise.withResolvers<void>()
		async function* stream(): AsyncGenerator<Uint8Array> {
			yield new Uint8Array(300_000).fill(97)
			started.resolve()
			await gone.promise
			for (let at = 0; at < 5; at++) {
				await new Promise((resolve) => setImmediate(resolve))
				yield new Uint8Array(100_000).fill(98 + at)
			}
		}
		const { url, calls } = await setting(start, () => ({ body: stream() }), { store })
		await sendAndDisconnect(url, started.promise)
		gone.resolve()
		await ended
		const replay = await send(url)
		expect([replay.status, replay.body.length, replay.body.at(-1)]).toEqual([200, 800_000, 102])
		expect(calls()).toBe(1)
	})
}

function contexts(start: Start): void {
	test('keeps the results of steps for the next run', async () => {
		const steps: string[] = []
		const { url, calls } = await setting(start, async (context) => {
			const step = await context.step('charge', ({ idempotencyKey }) => {
				steps.push(idempotencyKey)
				return `charge ${steps.length}`
			})
			if (!context.isRerun) throw new Error('boom')
			return { body: step }
		})
		expect((await send(url)).status).toBe(500)
		expect((await send(url)).body.toString()).toBe('charge 1')
		expect([steps.length, calls()]).toEqual([1, 2])
	})

	test.each(['k1', ''])('sends and stores the response of a transaction (key %j)', async (key) => {
		const { url, calls } = await setting(
			start,
			(context, body) =>
				context.transaction(async (tx) => {
					const headers = [
						['location', '/charges/1'],
						['set-cookie', 'a=1'],
						['set-cookie', 'b=2'],
					] satisfies [string, string][]
					return new Response(`${tx} ${body}`, { status: 201, headers })
				}),
			{ store: transactionalStore() },
		)
		const first = await send(url, { key })
		expect([first.status, first.body.toString()]).toEqual([201, 'tx {"amount":1}'])
		expect(first.lines('set-cookie')).toEqual(['a=1', 'b=2'])
		const second = await send(url, { key })
		expect([second.status, second.body.toString()]).toEqual([201, 'tx {"amount":1}'])
		expect([second.headers['location'], second.headers['idempotency-replayed']]).toEqual([
			'/charges/1',
			key ? 'true' : undefined,
		])
		expect(calls()).toBe(key ? 1 : 2)
	})

	test('sends the response of a transaction that was rolled back, and releases the key', async () => {
		const { url, calls } = await setting(
			start,
			(context) => context.transaction(async () => new Response('no', { status: 500 })),
			{ store: transactionalStore() },
		)
		expect((await send(url)).status).toBe(500)
		expect((await send(url)).body.toString()).toBe('no')
		expect(calls()).toBe(2)
	})
}
