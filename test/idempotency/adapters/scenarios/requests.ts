import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { memoryIdempotencyStore } from '../../../../src/idempotency/index.ts'
import { send, sendAndDisconnect } from '../client.ts'
import { type Start, setup } from '../servers.ts'
import { observedStore, waitingStore } from '../stores.ts'
import { created } from './services.ts'

export function requests(start: Start): void {
	test('passes the body to the handler unchanged', async () => {
		const { url } = await setup(start, (_, body) => ({ body }))
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
		const { url } = await setup(start, created)
		expect((await send(url, { headers: { expect: '100-continue' } })).body.toString()).toBe('{"amount":1}')
	})

	test('rejects a body that is too large', async () => {
		const { store, seen } = observedStore()
		const { url, calls } = await setup(start, created, { store, maxRequestBytes: 1_999 })
		const response = await send(url, { body: 'x'.repeat(2_000) })
		expect(response.status).toBe(413)
		// Fastify's parser has its own text.
		expect(response.body.toString()).toMatch(/"code":"(request-body-too-large|FST_ERR_CTP_BODY_TOO_LARGE)"/)
		expect([seen.claims, calls()]).toEqual([0, 0])
		expect((await send(url, { body: 'x'.repeat(1_999) })).status).toBe(201)
	})

	test('rejects a chunked body that is too large without reading it all', async () => {
		const { store, seen } = observedStore()
		const { url } = await setup(start, created, { store, maxRequestBytes: 1_000 })
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
		const { url, calls } = await setup(start, created, { store })
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

export function disconnects(start: Start): void {
	test('stores the response of a client that disconnected while the handler ran', async () => {
		const { store, ended } = observedStore()
		const entered = Promise.withResolvers<void>()
		const gone = Promise.withResolvers<void>()
		const { url, calls } = await setup(
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
		const gone = Promise.withResolvers<void>()
		const waiting = waitingStore(memoryIdempotencyStore(), gone.promise)
		const { store, ended } = observedStore(waiting.store)
		const { url, calls } = await setup(start, created, { store })
		await sendAndDisconnect(url, waiting.asked)
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
		const { url, calls } = await setup(start, () => ({ body: stream() }), { store })
		await sendAndDisconnect(url, started.promise)
		gone.resolve()
		await ended
		const replay = await send(url)
		expect([replay.status, replay.body.length, replay.body.at(-1)]).toEqual([200, 800_000, 102])
		expect(calls()).toBe(1)
	})
}
