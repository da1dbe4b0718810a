import { once } from 'node:events'
import {
	Agent,
	createServer,
	request as httpRequest,
	type IncomingMessage,
	type ServerResponse,
} from 'node:http'
import {
	connect as connectHttp2,
	constants,
	createServer as createHttp2Server,
	type Http2ServerRequest,
	type Http2ServerResponse,
} from 'node:http2'
import { connect } from 'node:net'
import { PassThrough, pipeline } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { idempotency, memoryIdempotencyStore, nodeIdempotency } from '../../../../src/idempotency/index.ts'
import { listen } from '../../../support/listen.ts'
import { options, send } from '../client.ts'
import type { Handler } from '../protected-server.ts'
import { listening, userOf } from '../servers.ts'
import { observedStore, waitingStore } from '../stores.ts'

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** When the adapter starts to read. */
const PRINCIPALS = {
	'before the body arrives': userOf,
	'when the body has arrived': async (request: { raw: unknown }) => {
		const message = request.raw as IncomingMessage
		while (!message.complete) await tick()
		return userOf(request)
	},
}

/** Ways to read a request. Each returns the body. */
const READERS: Record<string, (request: IncomingMessage) => Promise<string>> = {
	'for await': async (request) => {
		let body = ''
		for await (const chunk of request) {
			expect(Buffer.isBuffer(chunk)).toBe(true)
			body += chunk
		}
		return body
	},
	'data events': (request) =>
		new Promise((resolve) => {
			let body = ''
			request.on('data', (chunk) => {
				body += chunk
			})
			request.on('end', () => resolve(body))
		}),
	'data events after a while, with an encoding': async (request) => {
		await tick()
		await tick()
		request.setEncoding('latin1')
		return READERS['data events']?.(request) ?? ''
	},
	'pause and resume': async (request) => {
		let body = ''
		request.on('data', (chunk) => {
			body += chunk
			request.pause()
			setImmediate(() => request.resume())
		})
		await once(request, 'end')
		return body
	},
	'readable events': async (request) => {
		let body = ''
		request.on('readable', () => {
			for (let chunk = request.read(); chunk !== null; chunk = request.read()) body += chunk
		})
		await once(request, 'end')
		return body
	},
	pipe: (request) => text(request.pipe(new PassThrough())),
	pipeline: (request) => text(pipeline(request, new PassThrough(), () => {})),
}

const server = (handler: Handler, given = {}) => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf, waitMs: 0, ...given })
	return listening(createServer(nodeIdempotency(engine, handler)))
}

describe.each(Object.entries(PRINCIPALS))('the body is given back, read %s', (_, principal) => {
	test.each(Object.entries(READERS))('with %s', async (__, read) => {
		const log: unknown[] = []
		const url = await server(
			async (request, response) => {
				log.push(request.readableEnded, request.readableFlowing, request.complete, request.aborted)
				const body = await read(request)
				log.push(request.readableEnded, request.complete, request.aborted)
				response.end(body)
			},
			{ principal },
		)
		const body = 'abc'.repeat(40_000)
		expect((await send(url, { body })).body.toString()).toBe(body)
		const chunked = { key: 'k2', headers: { 'transfer-encoding': 'chunked' } }
		expect((await send(url, { ...chunked, body })).body.toString()).toBe(body)
		expect((await send(url, { ...chunked, key: 'k3', body: '' })).body.toString()).toBe('')
		const expected = [false, null, true, false, true, true, false]
		expect(log).toEqual([...expected, ...expected, ...expected])
	})
})

test('a handler that does not read the body leaves the connection usable', async () => {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 })
	onTestFinished(() => agent.destroy())
	const sockets = new Set<unknown>()
	const url = await server(
		(request, response) => {
			sockets.add(request.socket)
			response.end('x')
		},
		{ maxRequestBytes: 500_000 },
	)
	for (const [key, size, status] of [
		['a', 200_000, 200],
		['a', 200_000, 200],
		['b', 600_000, 413],
		['', 600_000, 200],
		['a b', 600_000, 400],
		['chunked', 600_000, 413],
		['c', 10, 200],
	] as const) {
		const request = httpRequest(url, { ...options({ key }), agent })
		if (key === 'chunked') request.write('x')
		request.end('x'.repeat(size))
		const [response] = await once(request, 'response')
		expect([key, response.statusCode]).toEqual([key, status])
		await buffer(response)
	}
	expect(sockets.size).toBe(1)
})

test('pipelined requests get their responses in order', async () => {
	const url = await server(async (request, response) => {
		const body = await text(request)
		if (body === '1') await tick()
		response.end(`response ${body}`)
	})
	const socket = connect(Number(new URL(url).port), '127.0.0.1')
	const post = (body: string, more = '') =>
		`POST / HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nIdempotency-Key: k${body}\r\nContent-Length: 1\r\n${more}\r\n${body}`
	socket.write(post('1') + post('2') + post('3', 'Connection: close\r\n'))
	const received = await text(socket)
	expect(received.match(/response \d/g)).toEqual(['response 1', 'response 2', 'response 3'])
})

test('a client that disconnects does not take the body away that the handler has not read', async () => {
	const { store, ended } = observedStore()
	const entered = Promise.withResolvers<void>()
	const aborted: boolean[] = []
	const url = await server(
		async (request, response) => {
			entered.resolve()
			await once(request.socket, 'close')
			response.end(await text(request))
			aborted.push(request.aborted)
		},
		{ store },
	)
	const request = httpRequest(new URL('/charges', url), options())
	request.on('error', () => {})
	request.end('{"amount":1}')
	await entered.promise
	request.destroy()
	await ended
	expect((await send(url)).body.toString()).toBe('{"amount":1}')
	expect(aborted).toEqual([false])
})

test('the path is that of the request target, also if it is absolute', async () => {
	const paths: string[] = []
	const url = await server((_, response) => response.end(), {
		route: ({ path }: { path: string }) => {
			paths.push(path)
			return path
		},
	})
	const socket = connect(Number(new URL(url).port), '127.0.0.1')
	for (const [at, target] of ['/a/b?c=1', '//a/b', 'http://shop.example.com/a?b=1'].entries())
		socket.write(
			`POST ${target} HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nIdempotency-Key: k${at}\r\nContent-Length: 0\r\n${at === 2 ? 'Connection: close\r\n' : ''}\r\n`,
		)
	await text(socket)
	expect(paths).toEqual(['/a/b', '//a/b', '/a'])
})

test('the context is also found by the request, and nested adapters claim once', async () => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf })
	const inner = nodeIdempotency(engine, (request: IncomingMessage, response: ServerResponse, context) => {
		expect(engine.context(request)).toBe(context)
		response.end(String(context.isProtected))
	})
	const url = await listening(createServer(nodeIdempotency(engine, inner)))
	expect((await send(url)).body.toString()).toBe('true')
	expect((await send(url)).headers['idempotency-replayed']).toBe('true')
	expect(() => engine.context({})).toThrow(/has no context of this idempotency engine/)
})

describe('HTTP/2', () => {
	async function http2(handle: Parameters<typeof createHttp2Server>[1]) {
		const http2Server = createHttp2Server(handle ?? (() => {}))
		const client = connectHttp2(`http://127.0.0.1:${await listen(http2Server)}`)
		onTestFinished(() => {
			client.destroy()
			http2Server.close()
		})
		return (body?: string, key = 'k1') => {
			const stream = client.request(
				{ ':method': 'POST', ':path': '/charges', 'x-user': 'ada', 'idempotency-key': key },
				{ endStream: body === undefined },
			)
			if (body !== undefined) stream.end(body)
			return stream
		}
	}

	test('requests and responses of the compatibility API are replayed', async () => {
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf })
		let calls = 0
		const open = await http2(
			nodeIdempotency(engine, async (request, response) => {
				calls++
				response.setHeader('link', ['<a>', '<b>'])
				response.writeHead(201, { 'content-type': 'text/plain' })
				response.write('received ')
				response.end(await text(request))
			}),
		)
		for (const replayed of [undefined, 'true']) {
			const stream = open('body')
			const [headers] = await once(stream, 'response')
			expect([headers[':status'], headers['link'], headers['idempotency-replayed']]).toEqual([
				201,
				'<a>, <b>',
				replayed,
			])
			expect(await text(stream)).toBe('received body')
		}
		expect(await text(open(undefined, 'k2'))).toBe('received ')
		expect(await text(open('', 'k3'))).toBe('received ')
		const other = open('other')
		const [headers] = await once(other, 'response')
		expect(headers[':status']).toBe(422)
		expect(calls).toBe(3)
	})

	test.each(['handler', 'claim'])(
		'the response of a stream that the client reset during the %s is stored',
		async (at) => {
			const entered = Promise.withResolvers<void>()
			const closed = Promise.withResolvers<void>()
			let calls = 0
			const base = memoryIdempotencyStore()
			const waiting = waitingStore(base, closed.promise)
			const { store, ended } = observedStore(at === 'claim' ? waiting.store : base)
			const engine = idempotency({ name: 'shop', store, principal: userOf })
			const handle = nodeIdempotency(
				engine,
				async (request: Http2ServerRequest, response: Http2ServerResponse) => {
					calls++
					entered.resolve()
					await closed.promise
					response.setHeader('content-type', 'text/plain')
					response.write('a')
					response.end(await text(request))
				},
			)
			const open = await http2((request, response) => {
				request.stream.once('close', () => closed.resolve())
				void handle(request, response)
			})
			const stream = open('body')
			stream.on('error', () => {})
			await (at === 'claim' ? waiting.asked : entered.promise)
			stream.close(constants.NGHTTP2_CANCEL)
			await ended
			const replay = open('body')
			expect(await text(replay)).toBe('abody')
			expect(calls).toBe(1)
		},
	)
})
