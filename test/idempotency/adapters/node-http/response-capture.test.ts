import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { idempotency, memoryIdempotencyStore, nodeIdempotency } from '../../../../src/idempotency/index.ts'
import { send } from '../client.ts'
import { type Handler, protectedServer } from '../protected-server.ts'
import { listening, userOf } from '../servers.ts'
import { observedStore, storeWith } from '../stores.ts'
import { ALIKE } from './alike-handlers.ts'

/** What a handler observes, and what its client receives. */
async function observed(url: string, log: readonly unknown[]) {
	const { status, headers, trailers, body } = await send(url)
	const { date: _, ...sent } = headers
	return { status, headers: sent, trailers, body: body.toString('latin1'), log: [...log] }
}

describe('a handler observes and sends the same as without the adapter', () => {
	test.each(Object.entries(ALIKE))('%s', async (_, handle) => {
		const plainLog: unknown[] = []
		const log: unknown[] = []
		const plain = await listening(
			createServer((__, response) => void handle(response, (...entries) => plainLog.push(...entries))),
		)
		const { url, failures } = await protectedServer((__, response) =>
			handle(response, (...entries) => log.push(...entries)),
		)
		const expected = await observed(plain, plainLog)
		const first = await observed(url, log)
		expect(first).toEqual(expected)
		expect(failures).toEqual([])
		const replay = await send(url)
		expect([replay.status, replay.body.toString('latin1')]).toEqual([expected.status, expected.body])
		expect(replay.headers['idempotency-replayed']).toBe('true')
	})
})

test('stores repeated headers of every notation', async () => {
	const { url } = await protectedServer((request, response) => {
		if (request.url === '/pairs')
			response.writeHead(200, [
				['Link', '<a>'],
				['LINK', '<b>'],
			] as never)
		else response.setHeader('Link', '<old>').writeHead(200, ['Link', '<a>', 'link', '<b>'])
		response.end('x')
	})
	for (const path of ['/pairs', '/flat']) {
		await send(url, { path })
		expect((await send(url, { path })).lines('link')).toEqual(['<a>', '<b>'])
	}
})

test('holds the whole body back if the client could take it for complete', async () => {
	const stored = Promise.withResolvers<void>()
	const asked = Promise.withResolvers<void>()
	const base = memoryIdempotencyStore()
	const store = storeWith(
		{
			complete: async (...args) => {
				asked.resolve()
				await stored.promise
				return base.complete(...args)
			},
		},
		base,
	)
	const { url } = await protectedServer(
		(_, response) => {
			response.setHeader('content-length', 2)
			response.flushHeaders()
			response.write('a')
			response.end('b')
		},
		{ store },
	)
	let received = 0
	const response = await fetch(`${url}/charges`, {
		method: 'POST',
		headers: { 'idempotency-key': 'k1', 'x-user': 'ada' },
	})
	const reading = (async () => {
		for await (const chunk of response.body ?? []) received += chunk.length
	})()
	await asked.promise
	await new Promise((resolve) => setImmediate(resolve))
	expect(received).toBe(0)
	stored.resolve()
	await reading
	expect(received).toBe(2)
})

test('delivers a body that is longer than its content-length, as Node does', async () => {
	const { url } = await protectedServer(
		(_, response) => {
			response.setHeader('content-length', 3)
			response.setHeader('connection', 'close')
			for (const chunk of ['abc', 'def', 'ghi']) response.write(chunk)
			response.end('jkl')
		},
		{ maxBodyBytes: 5 },
	)
	const socket = connect(Number(new URL(url).port), '127.0.0.1')
	socket.write('POST / HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nIdempotency-Key: k1\r\n\r\n')
	expect((await text(socket)).split('\r\n\r\n')[1]).toBe('abcdefghijkl')
})

test('stores what was set before the head was sent, if it was sent before the adapter', async () => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf })
	const handle = nodeIdempotency(engine, (_request: IncomingMessage, response: ServerResponse) =>
		response.end('x'),
	)
	const url = await listening(
		createServer((request, response) => {
			if (!request.headers['x-replay']) response.setHeader('link', '<a>').flushHeaders()
			void handle(request, response)
		}),
	)
	await send(url)
	const replay = await send(url, { headers: { 'x-replay': '1' } })
	expect([replay.headers['link'], replay.body.toString()]).toEqual(['<a>', 'x'])
})

describe('releases the key', () => {
	test.each<[string, Error[], Handler]>([
		['if the handler destroys the response', [], (_, response) => response.destroy()],
		[
			'if a stream in a pipeline fails',
			[new Error('boom')],
			async (_, response) => {
				async function* broken() {
					yield 'a'
					throw new Error('boom')
				}
				await pipeline(broken, response)
			},
		],
		[
			'if the handler throws after the head was sent',
			[new Error('boom')],
			(_, response) => {
				response.write('a')
				throw new Error('boom')
			},
		],
	])('%s', async (_, errors, handler) => {
		const { store, seen } = observedStore()
		const { url, failures } = await protectedServer(handler, { store })
		await expect(send(url)).rejects.toThrow()
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
		expect(failures).toEqual(errors)
	})
})

test('a throw after the end does not release the key', async () => {
	const { store, seen } = observedStore()
	const { url, failures } = await protectedServer(
		(_, response) => {
			response.end('done')
			throw new Error('boom')
		},
		{ store },
	)
	await send(url).catch(() => {})
	expect(failures).toEqual([new Error('boom')])
	expect(seen).toEqual({ claims: 1, releases: 0, completions: 1 })
	expect((await send(url)).body.toString()).toBe('done')
})
