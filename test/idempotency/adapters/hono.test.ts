import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import {
	honoIdempotency,
	type IdempotencyContext,
	IdempotencyLeaseLostError,
	type IdempotencyOptions,
	type IdempotencyStore,
	idempotency,
	memoryIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { transactionalStore } from './stores.ts'

const engineOf = (options: Partial<IdempotencyOptions> = {}) =>
	idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada', waitMs: 0, ...options })

const post = (body = '{"amount":1}', key = 'k1', init: RequestInit = {}): RequestInit => ({
	method: 'POST',
	headers: { 'idempotency-key': key, 'content-type': 'application/json' },
	body,
	...init,
})

const isReplayed = (response: Response): boolean => response.headers.get('idempotency-replayed') === 'true'

test('handlers keep their types, and the context has that of the store', async () => {
	const app = new Hono<{ Bindings: { TOKEN: string }; Variables: { user: string } }>()
	const store: IdempotencyStore<{ query(): void }> = memoryIdempotencyStore()
	const engine = idempotency({ store, principal: () => 'ada' })
	app.post('/charges/:id', honoIdempotency(engine), (c) => {
		expectTypeOf(c.req.param('id')).toEqualTypeOf<string>()
		expectTypeOf(c.env).toEqualTypeOf<{ TOKEN: string }>()
		expectTypeOf(engine.context(c)).toEqualTypeOf<IdempotencyContext<{ query(): void }>>()
		return c.json({ id: c.req.param('id'), isProtected: engine.context(c).isProtected })
	})
	expect(await (await app.request('/charges/7', post())).json()).toEqual({ id: '7', isProtected: true })
	expect(isReplayed(await app.request('/charges/7', post()))).toBe(true)
})

describe('the body is readable after the adapter', () => {
	test.each<[string, (c: Context) => Promise<unknown>]>([
		['with c.req.json()', (c) => c.req.json()],
		['with c.req.raw.json()', (c) => c.req.raw.json()],
		['with both', async (c) => [await c.req.raw.clone().json(), await c.req.json()][1]],
		['as a stream', async (c) => JSON.parse(await new Response(c.req.raw.body).text())],
	])('%s', async (_, read) => {
		const app = new Hono()
		app.use(honoIdempotency(engineOf()))
		app.post('/', async (c) => c.json(await read(c)))
		expect(await (await app.request('/', post())).json()).toEqual({ amount: 1 })
		expect((await app.request('/', post('{"amount":2}'))).status).toBe(422)
	})

	test('the body may have been read before with c.req', async () => {
		const app = new Hono()
		app.use(async (c, next) => {
			await c.req.json()
			await next()
		})
		app.use(honoIdempotency(engineOf()))
		app.post('/', async (c) => c.json(await c.req.json()))
		expect(await (await app.request('/', post())).json()).toEqual({ amount: 1 })
		expect(isReplayed(await app.request('/', post()))).toBe(true)
		expect((await app.request('/', post('{"amount":2}'))).status).toBe(422)
	})

	test('but not with c.req.raw', async () => {
		const app = new Hono()
		const errors: unknown[] = []
		app.onError((error, c) => {
			errors.push(error)
			return c.text('failed', 500)
		})
		app.use(async (c, next) => {
			await c.req.raw.text()
			await next()
		})
		app.use(honoIdempotency(engineOf()))
		expect((await app.request('/', post())).status).toBe(500)
		expect(errors).toEqual([expect.objectContaining({ code: 'YAOKI_IDEMPOTENCY_BODY_CONSUMED' })])
	})
})

test('the response of onError decides by its status', async () => {
	const app = new Hono()
	const handler = vi.fn((c: Context) => {
		throw c.req.query('lost')
			? new IdempotencyLeaseLostError()
			: new HTTPException(Number(c.req.query('status')) as 404)
	})
	app.post('/', honoIdempotency(engineOf()), handler)
	expect((await app.request('/?status=404', post())).status).toBe(404)
	expect(isReplayed(await app.request('/?status=404', post()))).toBe(true)
	for (const path of ['/?status=503', '/?lost=1']) {
		const key = path
		await app.request(path, post('', key))
		expect(isReplayed(await app.request(path, post('', key)))).toBe(false)
	}
	expect(handler).toHaveBeenCalledTimes(5)
})

test('headers of other middleware are kept, and repeated ones are not doubled', async () => {
	const app = new Hono()
	app.use(async (c, next) => {
		c.header('access-control-allow-origin', '*')
		c.header('link', '<replaced>')
		await next()
	})
	app.use(honoIdempotency(engineOf({ responseHeaders: ['set-cookie'] })))
	app.post('/', (c) => {
		c.header('set-cookie', 'a=1', { append: true })
		c.header('set-cookie', 'b=2', { append: true })
		c.header('link', '<a>')
		return c.text('x', 201)
	})
	for (const replayed of [false, true]) {
		const response = await app.request('/', post())
		expect([response.status, isReplayed(response), await response.text()]).toEqual([201, replayed, 'x'])
		expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
		expect([response.headers.get('link'), response.headers.get('access-control-allow-origin')]).toEqual([
			'<a>',
			'*',
		])
	}
})

test('the path is the full one in a sub-application, and two middlewares claim once', async () => {
	const paths: string[] = []
	const engine = engineOf({
		route: ({ path }) => {
			paths.push(path)
			return path
		},
	})
	const charges = new Hono().use(honoIdempotency(engine)).post('/charges', (c) => c.text('done'))
	const app = new Hono().use(honoIdempotency(engine)).route('/v1', charges)
	expect(await (await app.request('/v1/charges', post())).text()).toBe('done')
	expect(isReplayed(await app.request('/v1/charges', post()))).toBe(true)
	expect(paths).toEqual(['/v1/charges', '/v1/charges'])
})

test('the rest of a body whose client disconnected is read under waitUntil', async () => {
	const waited: Promise<unknown>[] = []
	const executionCtx = {
		waitUntil: (promise: Promise<unknown>) => void waited.push(promise),
		passThroughOnException: () => {},
		props: {},
	}
	const app = new Hono()
	app.use(honoIdempotency(engineOf()))
	app.post('/', () => {
		let at = 0
		return new Response(
			new ReadableStream({
				pull(controller) {
					controller.enqueue(new TextEncoder().encode(String(at++)))
					if (at === 5) controller.close()
				},
			}),
		)
	})
	const response = await app.request('/', post(), {}, executionCtx)
	await response.body?.cancel()
	await Promise.all(waited)
	expect(waited).toHaveLength(1)
	expect(await (await app.request('/', post())).text()).toBe('01234')
})

test('a request in Workers with a key and without an execution context is an error before anything runs', async () => {
	vi.stubGlobal('WebSocketPair', class {})
	onTestFinished(() => void vi.unstubAllGlobals())
	const errors: unknown[] = []
	const handler = vi.fn()
	const app = new Hono()
	app.use(honoIdempotency(engineOf()))
	app.post('/', (c) => {
		handler()
		return c.text('done')
	})
	app.onError((error, c) => {
		errors.push(error)
		return c.text('failed', 500)
	})
	expect((await app.request('/', post())).status).toBe(500)
	expect(errors).toMatchObject([{ code: 'YAOKI_IDEMPOTENCY_NO_WAIT_UNTIL' }])
	expect(handler).not.toHaveBeenCalled()
	expect(await (await app.request('/', { method: 'POST' })).text()).toBe('done')
})

test('a transaction returns the response', async () => {
	const app = new Hono()
	const engine = engineOf({ store: transactionalStore() })
	app.use(honoIdempotency(engine))
	app.post('/', (c) => engine.context(c).transaction(async (tx) => c.json({ tx }, 201)))
	expect(await (await app.request('/', post())).json()).toEqual({ tx: 'tx' })
	expect(await (await app.request('/', post())).json()).toEqual({ tx: 'tx' })
})
