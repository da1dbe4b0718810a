import { Readable, Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
	fastifyIdempotency,
	type IdempotencyContext,
	IdempotencyLeaseLostError,
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { send } from './client.ts'
import { nested } from './scenarios/failures.ts'
import { userOf } from './servers.ts'
import { observedStore, transactionalStore } from './stores.ts'

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

const pluginOf = (options: Partial<IdempotencyOptions> = {}) =>
	fastifyIdempotency(
		idempotency({ store: memoryIdempotencyStore(), principal: userOf, waitMs: 0, ...options }),
	)

async function serve(use: (app: FastifyInstance) => unknown): Promise<string> {
	const app = fastify({ forceCloseConnections: true })
	onTestFinished(() => app.close())
	await use(app)
	return app.listen({ port: 0, host: '127.0.0.1' })
}

/** One route with the adapter. */
const serveRoute = (handler: Handler, options: Partial<IdempotencyOptions> = {}) =>
	serve(async (app) => {
		await app.register(pluginOf(options))
		app.post('/charges', handler)
	})

describe('payloads are replayed', () => {
	test.each<[string, Handler, string]>([
		['an object', () => ({ a: 1 }), '{"a":1}'],
		['a string', () => 'text', 'text'],
		['a Buffer', () => Buffer.from([97, 98]), 'ab'],
		['a typed array', () => new Uint8Array([97, 98]), 'ab'],
		['a stream', () => Readable.from([Buffer.from('a'), Buffer.from('b')]), 'ab'],
		['a stream with send', (_, reply) => void reply.send(Readable.from([Buffer.from('a')])), 'a'],
		['a web stream', () => new Response('web').body, 'web'],
		['a web response', () => new Response('web', { headers: { link: '<a>' } }), 'web'],
		['null', (_, reply) => reply.code(202).send(null), 'null'],
		['nothing', (_, reply) => void reply.code(204).send(), ''],
		[
			'what is written to reply.raw',
			(_, reply) => {
				reply.hijack()
				reply.raw.write('a')
				reply.raw.end('b')
			},
			'ab',
		],
	])('%s', async (_, handler, body) => {
		const url = await serveRoute(handler)
		const first = await send(url)
		const replay = await send(url)
		expect([first.body.toString(), replay.body.toString()]).toEqual([body, body])
		for (const name of ['content-type', 'link'])
			expect([name, replay.headers[name]]).toEqual([name, first.headers[name]])
		expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([first.status, 'true'])
	})
})

describe('bodies', () => {
	test('JSON that is nested too deeply to compare is rejected', async () => {
		const url = await serveRoute(() => 'x')
		const response = await send(url, { body: nested(200_000) })
		expect([response.status, response.code]).toEqual([400, 'request-body-too-deep'])
	})

	test('JSON is compared by value', async () => {
		const url = await serveRoute((request) => request.body)
		await send(url, { body: '{"a":1,"b":2}' })
		expect((await send(url, { body: '{"b":2, "a":1}' })).headers['idempotency-replayed']).toBe('true')
		expect((await send(url, { body: '{"a":1,"b":3}' })).status).toBe(422)
		expect((await send(url, { key: 'k2', body: 'null' })).status).toBe(200)
		expect((await send(url, { key: 'k2', body: '0' })).status).toBe(422)
	})

	test('a Buffer is compared by its bytes', async () => {
		const url = await serve(async (app) => {
			app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
			await app.register(pluginOf())
			app.post('/charges', (request, reply) => reply.send(request.body))
		})
		const headers = { 'content-type': 'text/csv' }
		expect((await send(url, { headers, body: 'a,b' })).body.toString()).toBe('a,b')
		expect((await send(url, { headers, body: 'a,b' })).headers['idempotency-replayed']).toBe('true')
		expect((await send(url, { headers, body: 'a,c' })).status).toBe(422)
	})

	test('a stream that a parser passes on is read and given back', async () => {
		const url = await serve(async (app) => {
			app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
			await app.register(pluginOf({ maxRequestBytes: 100 }))
			app.post('/charges', async (request) => text(request.body as Readable))
		})
		const headers = { 'content-type': 'text/csv' }
		expect((await send(url, { headers, body: 'a,b' })).body.toString()).toBe('a,b')
		expect((await send(url, { headers, body: 'a,c' })).status).toBe(422)
		expect((await send(url, { headers, body: 'x'.repeat(101) })).code).toBe('request-body-too-large')
	})

	test('a stream that a hook has replaced is an error, because it cannot be compared', async () => {
		const url = await serve(async (app) => {
			app.addHook('preParsing', (_request, _reply, payload, done) => {
				const replaced = new Transform({ transform: (chunk, _, next) => next(null, chunk) })
				// Flows before the parser.
				payload.pipe(replaced).once('readable', () => done(null, replaced))
			})
			app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
			await app.register(pluginOf())
			app.post('/charges', () => 'x')
		})
		const response = await send(url, { headers: { 'content-type': 'text/csv' }, body: 'a,b' })
		expect(response.body.toString()).toContain('YAOKI_IDEMPOTENCY_BODY_CONSUMED')
	})
})

test('applies to the scope that it is registered in, and claims once in nested scopes', async () => {
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: userOf })
	const url = await serve((app) => {
		app.register((scope, _options, done) => {
			scope.register(fastifyIdempotency(engine))
			scope.post('/inside', () => 'x')
			scope.register((inner, _innerOptions, innerDone) => {
				inner.register(fastifyIdempotency(engine))
				inner.post('/nested', () => 'x')
				innerDone()
			})
			done()
		})
		app.post('/outside', () => 'x')
	})
	for (const [path, replayed] of [
		['/inside', 'true'],
		['/nested', 'true'],
		['/outside', undefined],
	] as const) {
		await send(url, { path })
		expect([path, (await send(url, { path })).headers['idempotency-replayed']]).toEqual([path, replayed])
	}
})

test('the path is the full one in a scope with a prefix', async () => {
	const paths: string[] = []
	const url = await serve((app) =>
		app.register(
			(scope, _options, done) => {
				scope.register(
					pluginOf({
						route: ({ path }) => {
							paths.push(path)
							return path
						},
					}),
				)
				scope.post('/charges', () => 'x')
				done()
			},
			{ prefix: '/v1' },
		),
	)
	await send(url, { path: '/v1/charges?a=1' })
	expect(paths).toEqual(['/v1/charges'])
})

test('the response of the error handler decides by its status', async () => {
	const handler = vi.fn(async (request: FastifyRequest) => {
		const { status } = request.query as { status?: string }
		throw status
			? Object.assign(new Error('failed'), { statusCode: Number(status) })
			: new IdempotencyLeaseLostError()
	})
	const url = await serveRoute(handler)
	expect((await send(url, { path: '/charges?status=404' })).status).toBe(404)
	expect((await send(url, { path: '/charges?status=404' })).headers['idempotency-replayed']).toBe('true')
	const key = 'k2'
	expect((await send(url, { key, path: '/charges?status=503' })).status).toBe(503)
	expect(
		(await send(url, { key, path: '/charges?status=503' })).headers['idempotency-replayed'],
	).toBeUndefined()
	expect((await send(url, { key })).status).toBe(409)
	expect(handler).toHaveBeenCalledTimes(4)
})

test('an error of principal is passed to the error handler, and a lost claim of validation is none', async () => {
	const url = await serve(async (app) => {
		await app.register(
			pluginOf({
				principal: () => {
					throw Object.assign(new Error('no session'), { statusCode: 418 })
				},
			}),
		)
		app.post('/charges', () => 'x')
	})
	expect((await send(url)).status).toBe(418)
})

// done(undefined) ran the handler, although no caller was authenticated.
test('the handler does not run if principal rejects without an error', async () => {
	const handler = vi.fn(() => 'x')
	const url = await serveRoute(handler, { principal: () => Promise.reject() })
	expect((await send(url)).status).toBe(500)
	expect(handler).not.toHaveBeenCalled()
})

test('a replay is what left the onSend hooks, and has the headers of earlier hooks', async () => {
	const wrap = vi.fn()
	const url = await serve(async (app) => {
		app.addHook('onRequest', async (_request, reply) => {
			reply.header('access-control-allow-origin', '*')
		})
		await app.register(pluginOf())
		app.addHook('onSend', async (_request, reply, payload) => {
			wrap()
			reply.header('content-language', 'en')
			return `(${payload})`
		})
		app.post('/charges', () => 'x')
	})
	for (const replayed of [undefined, 'true']) {
		const response = await send(url)
		expect(response.body.toString()).toBe('(x)')
		expect(response.headers).toMatchObject({ 'access-control-allow-origin': '*', 'content-language': 'en' })
		expect(response.headers['idempotency-replayed']).toBe(replayed)
	}
	expect(wrap).toHaveBeenCalledTimes(1)
})

describe('a transaction', () => {
	type ContextHandler = (context: IdempotencyContext, reply: FastifyReply) => unknown

	const serveTransaction = (handler: ContextHandler) =>
		serve(async (app) => {
			const engine = idempotency({ store: transactionalStore(), principal: userOf })
			await app.register(fastifyIdempotency(engine))
			app.post('/charges', (request, reply) => handler(engine.context(request), reply))
		})

	test.each<[string, ContextHandler]>([
		['returned', (context) => context.transaction(async (tx) => Response.json({ tx }))],
		[
			'awaited',
			async (context) => {
				await context.transaction(async (tx) => Response.json({ tx }))
			},
		],
		[
			'without a promise',
			(context, reply) => {
				context.transaction(async (tx) => Response.json({ tx })).catch((error) => reply.send(error))
			},
		],
	])('%s is sent once', async (_, handler) => {
		const url = await serveTransaction(handler)
		for (const replayed of [undefined, 'true']) {
			const response = await send(url)
			expect([response.status, response.body.toString()]).toEqual([200, '{"tx":"tx"}'])
			expect(response.headers['idempotency-replayed']).toBe(replayed)
		}
	})

	test('is an error of the handler if it fails', async () => {
		const url = await serveTransaction((context) =>
			context.transaction(async () => {
				throw new Error('rolled back')
			}),
		)
		expect((await send(url)).status).toBe(500)
		expect((await send(url)).headers['idempotency-replayed']).toBeUndefined()
	})
})

test('a handler that throws after the head releases the key', async () => {
	const { store, seen, ended } = observedStore()
	const url = await serveRoute(
		async (_request, reply) => {
			reply.raw.writeHead(201).write('first bytes')
			throw new Error('failed after the head')
		},
		{ store },
	)
	await expect(send(url)).rejects.toThrow()
	await ended
	expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
})

test('works with inject', async () => {
	const app = fastify()
	onTestFinished(() => app.close())
	await app.register(pluginOf())
	app.post('/charges', async (request) => request.body)
	const request = {
		method: 'POST',
		url: '/charges',
		headers: { 'idempotency-key': 'k1', 'x-user': 'ada' },
		payload: { amount: 1 },
	} as const
	expect((await app.inject(request)).json()).toEqual({ amount: 1 })
	const replay = await app.inject(request)
	expect([replay.json(), replay.headers['idempotency-replayed']]).toEqual([{ amount: 1 }, 'true'])
})
