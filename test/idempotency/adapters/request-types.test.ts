/** What `principal` and `route` get, on every framework, and its types. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import {
	expressIdempotency,
	fastifyIdempotency,
	fetchIdempotency,
	honoIdempotency,
	type IdempotencyRequest,
	type IdempotencyStore,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
} from '../../../src/idempotency/index.ts'
import { send } from './client.ts'
import { listening } from './servers.ts'

/** An engine of any framework, and what `principal` has read. */
function setup() {
	const seen: unknown[] = []
	const engine = idempotency({
		store: memoryIdempotencyStore(),
		principal: ({ headers, raw }) => {
			expectTypeOf(raw).toBeUnknown()
			seen.push([headers.get('X-User'), headers.get('accept'), headers.get('x-none')])
			return headers.get('x-user')
		},
	})
	return { engine, seen }
}

const SENT = { headers: { accept: ['a/b', 'c/d'] } }

test.each<[string, (engine: ReturnType<typeof setup>['engine']) => Promise<string>]>([
	[
		'node:http',
		(engine) =>
			listening(
				createServer(
					nodeIdempotency(engine, (_request: IncomingMessage, response: ServerResponse) => response.end()),
				),
			),
	],
	[
		'Express',
		(engine) => {
			const app = express()
			app.post('/charges', expressIdempotency(engine), (_req, res) => void res.end())
			return listening(createServer(app))
		},
	],
	[
		'Fastify',
		async (engine) => {
			const app = fastify({ forceCloseConnections: true })
			onTestFinished(() => app.close())
			await app.register(fastifyIdempotency(engine))
			app.post('/charges', () => 'x')
			return app.listen({ port: 0, host: '127.0.0.1' })
		},
	],
])('%s: headers are read by name', async (_, start) => {
	const { engine, seen } = setup()
	const url = await start(engine)
	expect((await send(url, SENT)).status).toBe(200)
	expect(seen).toEqual([['ada', 'a/b, c/d', undefined]])
})

test('fetch and Hono: headers are read by name', async () => {
	const { engine, seen } = setup()
	const init = { method: 'POST', headers: { 'idempotency-key': 'k1', 'x-user': 'ada', accept: 'a/b' } }
	await fetchIdempotency(engine, () => new Response())(new Request('http://localhost/fetch', init))
	const app = new Hono()
	app.post('/hono', honoIdempotency(engine), (c) => c.text('x'))
	await app.request('/hono', init)
	expect(seen).toEqual([
		['ada', 'a/b', undefined],
		['ada', 'a/b', undefined],
	])
})

class PlatformRequest extends Request {
	readonly user: string = 'ada'
}

test('raw has the annotated type, and the engine fits only adapters that pass it', () => {
	const store = memoryIdempotencyStore()
	const user = { id: 'ada' }
	const expressEngine = idempotency({
		store,
		principal: ({ raw }: IdempotencyRequest<express.Request & { user?: typeof user }>) => raw.user?.id,
	})
	const fastifyEngine = idempotency({
		store,
		principal: ({ raw }: IdempotencyRequest<FastifyRequest>) => raw.ip,
		route: ({ raw }) => raw.routeOptions.url ?? '',
	})
	const honoEngine = idempotency({
		store,
		principal: ({ raw }: IdempotencyRequest<Context<{ Variables: { user: string } }>>) => raw.get('user'),
	})
	const fetchEngine = idempotency({
		store,
		principal: ({ raw }: IdempotencyRequest<PlatformRequest>) => raw.user,
	})

	express().post('/charges', expressIdempotency(expressEngine))
	fastify().register(fastifyIdempotency(fastifyEngine))
	new Hono<{ Variables: { user: string } }>().use(honoIdempotency(honoEngine))
	fetchIdempotency(fetchEngine, (request: PlatformRequest) => new Response(request.user))

	// @ts-expect-error: a Hono context is not an Express request.
	expressIdempotency(honoEngine)
	// @ts-expect-error: an Express request is not a Hono context.
	honoIdempotency(expressEngine)
	// @ts-expect-error: a Fastify request is not a web request.
	fetchIdempotency(fastifyEngine, () => new Response())
	// The handler takes any request, principal does not.
	const handle = fetchIdempotency(fetchEngine, (request: Request) => new Response(request.url))
	expectTypeOf(handle).parameters.toEqualTypeOf<[PlatformRequest]>()
})

test('a handler gets the request that principal gets, also if only some of its parameters are annotated', () => {
	const engine = idempotency({
		store: memoryIdempotencyStore(),
		principal: ({ raw }: IdempotencyRequest<PlatformRequest>) => raw.user,
	})
	const respond = fetchIdempotency(engine, (request, context, env: { readonly region: string }) => {
		expectTypeOf(request).toEqualTypeOf<PlatformRequest>()
		return new Response(env.region, { status: context.isProtected ? 201 : 200 })
	})
	expectTypeOf(respond).parameters.toEqualTypeOf<[PlatformRequest, { readonly region: string }]>()

	const anyEngine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
	const handle = fetchIdempotency(anyEngine, (request: PlatformRequest, { step }) =>
		step('user', () => request.user).then((user) => new Response(user)),
	)
	expectTypeOf(handle).parameters.toEqualTypeOf<[PlatformRequest]>()

	interface UserRequest extends IncomingMessage {
		readonly user?: string
	}
	const nodeEngine = idempotency({
		store: memoryIdempotencyStore(),
		principal: ({ raw }: IdempotencyRequest<UserRequest>) => raw.user,
	})
	const listener = nodeIdempotency(nodeEngine, (request, response: ServerResponse, { step }) => {
		expectTypeOf(request).toEqualTypeOf<UserRequest>()
		return step('end', () => response.end() && null)
	})
	expectTypeOf(listener).parameters.toEqualTypeOf<[UserRequest, ServerResponse]>()
})

test('the context has the type of the transaction', () => {
	const store: IdempotencyStore<{ query(): void }> = memoryIdempotencyStore()
	const engine = idempotency({ store, principal: () => 'ada' })
	const open = () =>
		engine.context({}).transaction((tx) => {
			expectTypeOf(tx.query).toBeFunction()
			return new Response()
		})
	expect(open).toThrow(expect.objectContaining({ code: 'YAOKI_IDEMPOTENCY_NO_CONTEXT' }))
})
