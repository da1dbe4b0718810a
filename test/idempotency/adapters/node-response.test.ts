import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import {
	type IdempotencyContext,
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from '../../../src/idempotency/index.ts'
import { send, sendAndDisconnect } from './client.ts'
import { listening, userOf } from './servers.ts'
import { observedStore, storeWith } from './stores.ts'

type Handler = (request: IncomingMessage, response: ServerResponse, context: IdempotencyContext) => unknown

/** A server with the adapter. `failures` are what the returned promise rejected with. */
async function protectedServer(handler: Handler, options: Partial<IdempotencyOptions> = {}) {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf, ...options })
	const failures: unknown[] = []
	const handle = nodeIdempotency(engine, handler)
	const listener: RequestListener = (request, response) => {
		handle(request, response).catch((error) => {
			failures.push(error)
			response.destroy()
		})
	}
	return { url: await listening(createServer(listener)), failures, engine }
}

/** What a handler observes, and what its client receives. */
async function observed(url: string, log: readonly unknown[]) {
	const { status, headers, trailers, body } = await send(url)
	const { date: _, ...sent } = headers
	return { status, headers: sent, trailers, body: body.toString('latin1'), log: [...log] }
}

type Log = (...entries: unknown[]) => void

/** Handlers that behave the same with and without the adapter: they log what they observe. */
const ALIKE: Record<string, (response: ServerResponse, log: Log) => unknown> = {
	'one end': (response, log) => {
		log(response.headersSent, response.writableEnded)
		log(response.end('body') === response)
		log(response.headersSent, response.writableEnded, response.finished, response.writableFinished)
	},
	'end without a body': (response) => response.end(),
	'end with a callback': async (response, log) => {
		await new Promise<void>((resolve) => response.end(() => resolve()))
		log(response.writableFinished)
	},
	'end with an encoding and a callback': async (response, log) => {
		await new Promise<void>((resolve) => response.end('e9', 'hex', () => resolve()))
		log(response.writableFinished)
	},
	'writes with encodings': (response, log) => {
		log(response.write('\u00e9'), response.write('\u00e9', 'latin1'), response.write('ff00', 'hex'))
		log(response.headersSent)
		response.end('AQID', 'base64')
	},
	'writes with callbacks': async (response, log) => {
		await new Promise<void>((resolve) => response.write('a', () => resolve()))
		await new Promise<void>((resolve) => response.write('b', 'utf8', () => resolve()))
		response.end('c')
		await once(response, 'finish')
		log('finish')
	},
	'a content-length and several writes': async (response) => {
		response.setHeader('Content-Length', 3)
		await new Promise<void>((resolve) => response.write('a', () => resolve()))
		response.write(Buffer.from('b'))
		response.end(new Uint8Array([99]))
	},
	'more than the content-length': (response, log) => {
		response.setHeader('content-length', 2)
		log(response.write('ab'))
		response.end()
	},
	'headers of all kinds': (response, log) => {
		response.setHeader('Link', ['<a>', '<b>'])
		response.appendHeader('link', '<c>')
		response.setHeader('X-Number', 7)
		response.setHeader('vary', 'accept')
		response.writeHead(201, 'Made', { Vary: 'accept-language', 'X-Other': ['1', '2'] })
		log(response.statusCode, response.statusMessage, response.getHeaders())
		response.end('x')
	},
	'a flat list of headers': (response) =>
		response.writeHead(201, ['Link', '<a>', 'Link', '<b>', 'content-type', 'text/plain']).end('x'),
	'writeHead twice': (response, log) => {
		response.writeHead(200)
		try {
			response.writeHead(201)
		} catch (error) {
			log((error as NodeJS.ErrnoException).code)
		}
		response.end('x')
	},
	'a header after the end': (response, log) => {
		response.end('x')
		try {
			response.setHeader('x-late', '1')
		} catch (error) {
			log((error as NodeJS.ErrnoException).code)
		}
	},
	flushHeaders: (response, log) => {
		response.flushHeaders()
		log(response.headersSent)
		response.end('x')
	},
	trailers: (response) => {
		response.setHeader('Trailer', 'X-Sum')
		response.addTrailers({ 'X-Sum': '1' })
		response.end('x')
	},
	'end twice': async (response, log) => {
		response.on('error', (error: NodeJS.ErrnoException) => log(error.code))
		response.end('first')
		log(response.end('second') === response)
		await once(response, 'finish')
	},
	'end twice without a body': async (response, log) => {
		response.end('first')
		await new Promise<void>((resolve) => response.end(() => resolve())).catch((error) => log(error.code))
	},
	'a write after the end': async (response, log) => {
		response.on('error', (error: NodeJS.ErrnoException) => log(error.code))
		response.end('first')
		log(response.write('second', (error) => log((error as NodeJS.ErrnoException | null)?.code)))
		await once(response, 'error')
	},
	'a chunk of a wrong type': (response, log) => {
		for (const call of [() => response.write(7), () => response.write(null), () => response.end({})])
			try {
				call()
			} catch (error) {
				log((error as NodeJS.ErrnoException).code)
			}
		response.end('x')
	},
	'a status without a body': (response) => {
		response.statusCode = 204
		response.write('ignored')
		response.end('ignored')
	},
	'a pipe': async (response, log) => {
		response.on('close', () => log('close'))
		Readable.from([Buffer.alloc(100_000, 'a'), Buffer.alloc(100_000, 'b')]).pipe(response)
		await once(response, 'finish')
		log('finish', response.writableEnded)
	},
	'a pipeline': async (response, log) => {
		async function* chunks() {
			for (let at = 0; at < 20; at++) yield Buffer.alloc(20_000, String(at % 10))
		}
		await pipeline(chunks, response)
		log(response.writableFinished)
	},
	backpressure: async (response, log) => {
		let waits = 0
		for (let at = 0; at < 10; at++)
			if (!response.write(Buffer.alloc(64_000, 'x'))) {
				if (response.writableNeedDrain) waits++
				await once(response, 'drain')
			}
		log(waits > 0)
		response.end()
	},
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
	test.each<[string, Handler]>([
		['if the handler destroys the response', (_, response) => response.destroy()],
		[
			'if a stream in a pipeline fails',
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
			(_, response) => {
				response.write('a')
				throw new Error('boom')
			},
		],
	])('%s', async (_, handler) => {
		const { store, seen } = observedStore()
		const { url, failures } = await protectedServer(handler, { store })
		await expect(send(url)).rejects.toThrow()
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
		expect(failures.every((error) => (error as Error).message === 'boom')).toBe(true)
	})

	test('if shouldStore throws, and the error reaches the handler', async () => {
		const { store, seen } = observedStore()
		const shouldStore = () => {
			throw new Error('boom')
		}
		const { url, failures } = await protectedServer((_, response) => response.end('x'), {
			store,
			shouldStore,
		})
		await expect(send(url)).rejects.toThrow()
		expect(failures).toEqual([new Error('boom')])
		expect(seen.releases).toBe(1)
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

describe('a client that disconnects', () => {
	/** Calls the handler when the client is gone. */
	async function withoutClient(handle: (response: ServerResponse) => unknown, options = {}) {
		const entered = Promise.withResolvers<void>()
		const { store, seen, ended } = observedStore()
		const server = await protectedServer(
			async (request, response) => {
				entered.resolve()
				if (!request.socket.destroyed) await once(request.socket, 'close')
				await handle(response)
			},
			{ store, ...options },
		)
		await sendAndDisconnect(server.url, entered.promise)
		return { ...server, seen, ended }
	}

	test('does not show in the response until its end', async () => {
		const log: unknown[] = []
		const { url, ended } = await withoutClient(async (response) => {
			response.on('close', () => log.push('close'))
			log.push(response.destroyed, response.closed, response.writableNeedDrain)
			for (let at = 0; at < 10; at++) {
				log.push(response.write(Buffer.alloc(50_000, 'x')))
				await new Promise<void>((resolve, reject) =>
					response.write('y', (error) => (error ? reject(error) : resolve())),
				)
			}
			log.push(response.destroyed)
			response.end('z')
			await once(response, 'close')
			log.push(response.destroyed, response.closed)
		})
		await ended
		expect((await send(url)).body).toHaveLength(500_011)
		expect(log).toEqual([false, false, false, ...new Array(10).fill(true), false, 'close', true, true])
	})

	test('does not stop a stream that waits for the client to read', async () => {
		const { store, ended } = observedStore()
		const isFull = Promise.withResolvers<void>()
		const { url } = await protectedServer(
			(_, response) => {
				let sent = 0
				const source = new Readable({
					read() {
						sent++
						this.push(sent > 100 ? null : Buffer.alloc(100_000, 'x'))
					},
				})
				source.on('pause', () => isFull.resolve())
				source.pipe(response)
			},
			{ store, maxBodyBytes: 20_000_000 },
		)
		// The client reads nothing.
		await sendAndDisconnect(url, isFull.promise)
		await ended
		expect((await send(url)).body).toHaveLength(10_000_000)
	})

	test('whose handler throws releases the key', async () => {
		const { seen, ended } = await withoutClient((response) => {
			response.write('a')
			throw new Error('boom')
		})
		await ended
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
	})

	test('ends a handler that never ends when the lease is lost', async () => {
		const runtime = virtualRuntime()
		const closed = Promise.withResolvers<boolean>()
		const gone = Promise.withResolvers<void>()
		const { engine } = await withoutClient(
			(response) => {
				response.on('close', () => closed.resolve(response.destroyed))
				gone.resolve()
			},
			{ runtime, store: memoryIdempotencyStore({ runtime }), leaseMs: 1_000, maxRunMs: 3_000 },
		)
		const lost = Promise.withResolvers<void>()
		engine.subscribe(({ type }) => type === 'idempotency_lease_lost' && lost.resolve())
		await gone.promise
		await runtime.advance(5_000)
		await lost.promise
		expect(await closed.promise).toBe(true)
	})
})
