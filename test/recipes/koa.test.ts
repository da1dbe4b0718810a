import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { bodyParser } from '@koa/bodyparser'
import Koa, { type Context } from 'koa'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
	type IdempotencyContext,
	type IdempotencyOptions,
	type IdempotencyRequest,
	idempotency,
	memoryIdempotencyStore,
	sqliteIdempotencyStore,
} from 'yaoki/idempotency'
import { listen } from '../support/listen.ts'
import { type KoaRequest, koaIdempotency } from './.cache/koa/koa-idempotency.ts'
import { expectSoon, post, seen, setRecipe, startHeldService } from './support/idempotency.ts'
import { BUSY, headersOf, json, startServer } from './support/services.ts'

// Its types and those of @koa/bodyparser exclude each other.
const { koaBody } = createRequire(import.meta.url)('koa-body')

const portOf = (server: Server): number => {
	const address = server.address()
	if (address === null || typeof address === 'string') throw new Error('not a TCP server')
	return address.port
}

/** Starts the server of the recipe. Returns the URL of its route. */
async function startRecipe(apiUrl: string): Promise<string> {
	setRecipe({ API_URL: apiUrl, PORT: '0' }, { waitMs: 0 })
	const { server } = await import('./.cache/koa/server.ts')
	onTestFinished(() => void server.close())
	if (!server.listening) await once(server, 'listening')
	return `http://127.0.0.1:${portOf(server)}/charges`
}

type Handle = (ctx: Context, context: IdempotencyContext) => unknown

interface Application {
	readonly parsers?: readonly Koa.Middleware[]
	readonly before?: readonly Koa.Middleware[]
	readonly options?: Partial<IdempotencyOptions<unknown, KoaRequest>>
}

/** Starts an application with the middleware of the recipe, whose handler is this function. */
async function start(handle: Handle, { parsers, before = [], options }: Application = {}): Promise<string> {
	const engine = idempotency({
		name: 'shop',
		store: memoryIdempotencyStore(),
		principal: ({ headers }: IdempotencyRequest<KoaRequest>) => headers.get('authorization'),
		waitMs: 60_000,
		...options,
	})
	const app = new Koa()
	// Errors of handlers are expected.
	app.silent = true
	for (const middleware of [...before, ...(parsers ?? [bodyParser()])]) app.use(middleware)
	app.use(koaIdempotency(engine))
	app.use((ctx) => handle(ctx, ctx.state.idempotency))
	const server = createServer(app.callback())
	onTestFinished(async () => {
		server.close()
		server.closeAllConnections()
		await engine.close()
	})
	return `http://127.0.0.1:${await listen(server)}/charges`
}

test('the server of the recipe charges once for each user, key and body', async () => {
	const service = await startServer([BUSY, json({ id: 'c1' }), json({ id: 'c2' })])
	const url = await startRecipe(service.origin)
	const first = await post(url)
	const again = await post(url)
	expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
	expect(first.headers.get('content-type')).toContain('application/json')
	expect(await seen(first)).toEqual([201, '{"id":"c1"}', false])
	expect(await seen(again)).toEqual([201, '{"id":"c1"}', true])
	expect((await post(url, { body: '{"amount":6}' })).status).toBe(422)
	expect((await post(url, { user: '' })).status).toBe(401)
	expect(await seen(await post(url, { key: 'k2' }))).toEqual([201, '{"id":"c2"}', false])
	// The retry of the client has the key of the first attempt.
	const [sent, retried, other] = headersOf(service, 'idempotency-key')
	expect(retried).toBe(sent)
	expect(other).not.toBe(sent)
	expect(service.requests).toHaveLength(3)
})

test('a request gets 409 with Retry-After while the first one runs, and its response afterwards', async () => {
	const { service, respond } = await startHeldService()
	const url = await startRecipe(service.origin)
	const first = post(url)
	await service.requested(1)
	const second = await post(url)
	expectSoon(second.headers.get('retry-after'))
	expect([second.status, await second.json()]).toMatchObject([409, { code: 'request-in-progress' }])
	respond()
	expect(await seen(await first)).toEqual([201, '{"id":"c1"}', false])
	expect(await seen(await post(url))).toEqual([201, '{"id":"c1"}', true])
	expect(service.requests).toHaveLength(1)
})

test('an error goes to Koa, and the next request with the key runs', async () => {
	const handle = vi.fn((ctx: Context) => {
		if (handle.mock.calls.length === 1) throw new Error('bug')
		if (handle.mock.calls.length === 2) ctx.throw(422, 'negative')
		ctx.body = { id: 'c1' }
	})
	const url = await start(handle)
	expect(await seen(await post(url))).toEqual([500, 'Internal Server Error', false])
	expect(await seen(await post(url))).toEqual([422, 'negative', false])
	expect(await seen(await post(url))).toEqual([200, '{"id":"c1"}', false])
	expect(await seen(await post(url))).toEqual([200, '{"id":"c1"}', true])
	expect(handle).toHaveBeenCalledTimes(3)
})

test.each<readonly [string, Handle, number, string]>([
	['text', (ctx) => (ctx.body = 'paid'), 200, 'paid'],
	['HTML', (ctx) => (ctx.body = '<p>paid</p>'), 200, '<p>paid</p>'],
	['a buffer', (ctx) => (ctx.body = Buffer.from('paid')), 200, 'paid'],
	['a stream', (ctx) => (ctx.body = Readable.from(['pa', 'id'])), 200, 'paid'],
	['a web stream', (ctx) => (ctx.body = new Blob(['paid']).stream()), 200, 'paid'],
	['a blob', (ctx) => (ctx.body = new Blob(['paid'], { type: 'text/plain' })), 200, 'paid'],
	['a Response', (ctx) => (ctx.body = Response.json({ id: 'c1' }, { status: 202 })), 202, '{"id":"c1"}'],
	['only a status', (ctx) => (ctx.status = 202), 202, 'Accepted'],
	['a null body', (ctx) => (ctx.body = null), 204, ''],
	['204', (ctx) => (ctx.status = 204), 204, ''],
	['nothing', () => {}, 404, 'Not Found'],
	['a rejection', (ctx) => Object.assign(ctx, { status: 400, body: { error: 'no' } }), 400, '{"error":"no"}'],
])('replays %s with its status, type and length', async (_, handle, status, body) => {
	const counted = vi.fn(handle)
	const url = await start(counted)
	const [first, again] = [await post(url), await post(url)]
	for (const name of ['content-type', 'content-length'])
		expect(again.headers.get(name)).toBe(first.headers.get(name))
	expect(await seen(first)).toEqual([status, body, false])
	expect(await seen(again)).toEqual([status, body, true])
	expect(counted).toHaveBeenCalledTimes(1)
})

test('a replay has the headers of earlier middleware, and only stored ones of the handler', async () => {
	let request = 0
	const cors: Koa.Middleware = async (ctx, next) => {
		ctx.set('access-control-allow-origin', '*')
		ctx.cookies.set('session', String(++request))
		await next()
		ctx.set('x-status', String(ctx.status))
	}
	const handle: Handle = (ctx) => {
		ctx.set({ location: '/charges/c1', 'x-trace': 't1' })
		ctx.cookies.set('paid', 'yes')
		ctx.status = 201
		ctx.body = 'paid'
	}
	const url = await start(handle, { before: [cors] })
	const [first, again] = [await post(url), await post(url)]
	for (const { headers } of [first, again]) {
		expect(headers.get('access-control-allow-origin')).toBe('*')
		expect(headers.get('location')).toBe('/charges/c1')
		expect(headers.get('x-status')).toBe('201')
	}
	expect(first.headers.get('x-trace')).toBe('t1')
	expect(again.headers.get('x-trace')).toBeNull()
	const cookiesOf = ({ headers }: Response) => headers.getSetCookie().map((cookie) => cookie.split(';')[0])
	expect(cookiesOf(first)).toEqual(['session=1', 'paid=yes'])
	expect(cookiesOf(again)).toEqual(['session=2'])
})

test.each<readonly [string, readonly Koa.Middleware[]]>([
	['@koa/bodyparser', [bodyParser()]],
	['koa-body', [koaBody()]],
	['no parser', []],
])('compares the bodies behind %s', async (_, parsers) => {
	const url = await start((ctx) => (ctx.body = 'paid'), { parsers })
	expect((await post(url)).status).toBe(200)
	expect(await seen(await post(url))).toEqual([200, 'paid', true])
	expect((await post(url, { body: '{"amount":6}' })).status).toBe(422)
})

test('a parser that skips a body leaves its bytes to be compared', async () => {
	const handle: Handle = async (ctx) => {
		ctx.body = await ctx.state.webRequest.text()
	}
	const url = await start(handle)
	const type = 'application/octet-stream'
	expect(await seen(await post(url, { type, body: 'one' }))).toEqual([200, 'one', false])
	expect(await seen(await post(url, { type, body: 'one' }))).toEqual([200, 'one', true])
	expect((await post(url, { type, body: 'two' })).status).toBe(422)
})

test('a body that is larger than maxRequestBytes gets 413', async () => {
	const handle = vi.fn()
	const url = await start(handle, { parsers: [], options: { maxRequestBytes: 10 } })
	expect((await post(url, { body: '{"amount":500}' })).status).toBe(413)
	expect(handle).not.toHaveBeenCalled()
})

test.each(['end', 'resetAndDestroy'] as const)(
	'the response is stored if the client leaves with %s while the handler runs',
	async (leave) => {
		const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
		const { promise: isRunning, resolve: runs } = Promise.withResolvers<Context>()
		const handle = vi.fn(async (ctx: Context) => {
			runs(ctx)
			await mayEnd
			ctx.status = 201
			ctx.body = { id: 'c1' }
		})
		const url = await start(handle)
		const { hostname, port } = new URL(url)
		const socket: Socket = connect(Number(port), hostname)
		socket.on('error', () => {})
		const body = '{"amount":5}'
		socket.write(
			`POST /charges HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer token-of-ada\r\nIdempotency-Key: k1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
		)
		const { res } = await isRunning
		const hasLeft = once(res, 'close')
		socket[leave]()
		if (leave === 'end') socket.destroy()
		await hasLeft
		const again = post(url)
		end()
		expect(await seen(await again)).toEqual([201, '{"id":"c1"}', true])
		expect(handle).toHaveBeenCalledTimes(1)
	},
)

test('a transaction sends its own response, and a repeated request gets it', async () => {
	const store = sqliteIdempotencyStore(':memory:')
	await store.migrate()
	const handle = vi.fn(async (ctx: Context, context: IdempotencyContext) => {
		ctx.body = await context.transaction(() => Response.json({ id: 'c1' }, { status: 201 }))
	})
	const url = await start(handle, { options: { store } })
	expect(await seen(await post(url))).toEqual([201, '{"id":"c1"}', false])
	expect(await seen(await post(url))).toEqual([201, '{"id":"c1"}', true])
	expect(handle).toHaveBeenCalledTimes(1)
})
