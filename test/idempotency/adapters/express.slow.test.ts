import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import express, { type Express, type Request, type RequestHandler, type Response, type Router } from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import {
	expressIdempotency,
	type IdempotencyEngine,
	IdempotencyLeaseLostError,
	type IdempotencyOptions,
	idempotency,
	memoryIdempotencyStore,
} from '../../../src/idempotency/index.ts'
import { send, sendAndDisconnect } from './client.ts'
import { compressing } from './compressing.ts'
import { nested } from './scenarios/failures.ts'
import { listening, userOf } from './servers.ts'
import { observedStore, waitingStore } from './stores.ts'

const engineOf = (options: Partial<IdempotencyOptions> = {}): IdempotencyEngine =>
	idempotency({ store: memoryIdempotencyStore(), principal: userOf, waitMs: 0, ...options })

/** Without the log of the default error handler. */
function quiet(app: Express): Express {
	app.set('env', 'test')
	return app
}

describe.each<[string, typeof express]>([
	['Express 4', express4],
	['Express 5', express],
])('%s', (_, create) => {
	const serve = (use: (app: Express) => void): Promise<string> => {
		const app = quiet(create())
		use(app)
		return listening(createServer(app))
	}

	test('accepts a route without a cast', async () => {
		const engine = engineOf()
		const url = await serve((app) =>
			app.post('/charges', expressIdempotency(engine), create.json(), async (req, res) => {
				expectTypeOf(req.body).toBeAny()
				const charge = await engine.context(req).step('charge', () => req.body.amount)
				res.status(201).json({ charge })
			}),
		)
		expect((await send(url)).body.toString()).toBe('{"charge":1}')
		expect((await send(url)).body.toString()).toBe('{"charge":1}')
	})

	// body-parser skips a request whose socket has ended: the handler ran with an undefined body, and its 400 was stored.
	test.each<[string, (engine: IdempotencyEngine, pause: RequestHandler) => RequestHandler[]]>([
		['after the adapter', (engine) => [expressIdempotency(engine), create.json()]],
		['after the adapter and a pause', (engine, pause) => [expressIdempotency(engine), pause, create.json()]],
		['before the adapter', (engine) => [create.json(), expressIdempotency(engine)]],
	])(
		'a client that leaves during the claim does not lose its body: express.json() %s',
		async (_, handlers) => {
			const gone = Promise.withResolvers<void>()
			const waiting = waitingStore(memoryIdempotencyStore(), gone.promise)
			const { store, ended } = observedStore(waiting.store)
			const pause: RequestHandler = (_req, _res, next) => void setImmediate(next)
			const bodies: unknown[] = []
			const url = await serve((app) => {
				app.use((_req, res, next) => {
					res.once('close', () => gone.resolve())
					next()
				})
				app.post('/charges', ...handlers(engineOf({ store }), pause), (req, res) => {
					bodies.push(req.body)
					res.status(req.body === undefined ? 400 : 201).json(req.body ?? 'no body')
				})
			})
			await sendAndDisconnect(url, waiting.asked)
			await ended
			expect(bodies).toEqual([{ amount: 1 }])
			expect(await send(url)).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } })
		},
	)

	test.each([
		['during the claim', false],
		['before the adapter runs', true],
	])('a client that ends its half of the connection %s does not lose its body', async (_, isEarly) => {
		const ended = Promise.withResolvers<void>()
		const waiting = waitingStore(memoryIdempotencyStore(), ended.promise)
		const observed = observedStore(waiting.store)
		const bodies: unknown[] = []
		const url = await serve((app) => {
			app.use((req, _res, next) => {
				req.socket.once('end', () => {
					ended.resolve()
					if (isEarly) next()
				})
				if (!isEarly) next()
			})
			app.post(
				'/charges',
				expressIdempotency(engineOf({ store: observed.store })),
				create.json(),
				(req, res) => {
					bodies.push(req.body)
					res.end()
				},
			)
		})
		const socket = connect(Number(new URL(url).port), '127.0.0.1')
		socket.write(
			'POST /charges HTTP/1.1\r\nHost: localhost\r\nX-User: ada\r\nIdempotency-Key: k1\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"amount":1}',
		)
		if (!isEarly) await waiting.asked
		socket.resume().end()
		await observed.ended
		expect(bodies).toEqual([{ amount: 1 }])
	})

	test('rejects a value of express.json() that is nested too deeply to compare', async () => {
		const url = await serve((app) =>
			app.post('/charges', create.json({ limit: '1mb' }), expressIdempotency(engineOf()), (_req, res) => {
				res.end()
			}),
		)
		const response = await send(url, { body: nested(200_000) })
		expect([response.status, response.code]).toEqual([400, 'request-body-too-deep'])
	})

	test('compares the value of express.json() before it, and the bytes before express.json()', async () => {
		const engine = engineOf()
		const echo = (req: Request, res: Response) => void res.json(req.body)
		const url = await serve((app) => {
			app.post('/value', create.json(), expressIdempotency(engine), echo)
			app.post('/bytes', expressIdempotency(engine), create.json(), echo)
		})
		for (const [path, status] of [
			['/value', 200],
			['/bytes', 422],
		] as const) {
			await send(url, { path, body: '{"a":1,"b":2}' })
			const reordered = await send(url, { path, body: '{"b":2, "a":1}' })
			expect([path, reordered.status]).toEqual([path, status])
			expect((await send(url, { path, body: '{"a":1,"b":3}' })).status).toBe(422)
		}
	})

	test('compares the bytes of express.raw(), and the values of express.text() and express.urlencoded()', async () => {
		const engine = engineOf()
		const parsers = [create.raw(), create.text(), create.urlencoded({ extended: false })]
		const url = await serve((app) => {
			app.use(parsers, expressIdempotency(engine), (req: Request, res: Response) => {
				res.send(Buffer.isBuffer(req.body) ? req.body.toString('hex') : JSON.stringify(req.body))
			})
		})
		for (const [type, body, other, sent] of [
			['application/octet-stream', '\u0001', '\u0002', '01'],
			['text/plain', 'a', 'b', '"a"'],
			['application/x-www-form-urlencoded', 'a=1&b=2', 'a=1&b=3', '{"a":"1","b":"2"}'],
		] as const) {
			const headers = { 'content-type': type }
			const path = `/${type}`
			expect((await send(url, { headers, path, body })).body.toString()).toBe(sent)
			expect((await send(url, { headers, path, body })).headers['idempotency-replayed']).toBe('true')
			expect((await send(url, { headers, path, body: other })).status).toBe(422)
		}
	})

	test('a parser for another content type leaves the bytes', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			app.use(create.json(), expressIdempotency(engine), create.text({ type: '*/*' }))
			app.post('/charges', (req, res) => void res.send(req.body))
		})
		const headers = { 'content-type': 'text/csv' }
		expect((await send(url, { headers, body: 'a,b' })).body.toString()).toBe('a,b')
		expect((await send(url, { headers, body: 'a,c' })).status).toBe(422)
	})

	test('a body that was read without a value is an error, because requests could not be compared', async () => {
		const engine = engineOf()
		const errors: unknown[] = []
		const url = await serve((app) => {
			app.use((req, _res, next) => {
				req.resume().on('end', () => next())
			})
			app.use(expressIdempotency(engine), (_req, res) => void res.send('x'))
			app.use((error: unknown, _req: Request, res: Response, _next: () => void) => {
				errors.push(error)
				res.status(500).end()
			})
		})
		expect((await send(url)).status).toBe(500)
		expect(errors).toEqual([expect.objectContaining({ code: 'YAOKI_IDEMPOTENCY_BODY_CONSUMED' })])
	})

	test('the path is the full one in a router with a prefix', async () => {
		const paths: string[] = []
		const engine = engineOf({
			route: ({ path }) => {
				paths.push(path)
				return path
			},
		})
		const url = await serve((app) => {
			const router: Router = create.Router()
			router.post('/charges', expressIdempotency(engine), (req, res) => void res.send(req.url))
			app.use('/v1', router)
			app.use('/v2', router)
		})
		expect((await send(url, { path: '/v1/charges?a=1' })).body.toString()).toBe('/charges?a=1')
		expect((await send(url, { path: '/v2/charges?a=1' })).headers['idempotency-replayed']).toBeUndefined()
		expect(paths).toEqual(['/v1/charges', '/v2/charges'])
	})

	test('every spelling of a route is one key, and a parameter with other letters another one', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			const router: Router = create.Router()
			router.post('/', expressIdempotency(engine), (req, res) => void res.send(req.url))
			router.post('/:id/Refunds', expressIdempotency(engine), (req, res) => void res.send(req.params['id']))
			app.use('/charges', router)
		})
		const replayed = async (...paths: string[]) => {
			const received: boolean[] = []
			for (const path of paths) {
				const { status, headers } = await send(url, { path })
				expect(status).toBe(200)
				received.push(headers['idempotency-replayed'] === 'true')
			}
			return received
		}
		expect(await replayed('/charges', '/charges/')).toEqual([false, true])
		expect(await replayed('/charges/a/Refunds', '/charges/a/refunds', '/charges/%61/REFUNDS/')).toEqual([
			...[false, true, true],
		])
		expect(await replayed('/charges/A/Refunds', '/charges/a%2Fb/Refunds')).toEqual([false, false])
	})

	test('a parameter beside other characters is not mistaken for another resource', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			app.post('/files/:name.json', expressIdempotency(engine), (req, res) => void res.send(req.params))
			app.post('/routes/:from-:to', expressIdempotency(engine), (req, res) => void res.send(req.params))
		})
		for (const path of ['/files/a.json', '/files/b.json', '/routes/a-b', '/routes/a-c']) {
			expect((await send(url, { path })).headers['idempotency-replayed']).toBeUndefined()
			expect((await send(url, { path: `${path}/` })).headers['idempotency-replayed']).toBe('true')
		}
	})

	// Express destroys the socket, which looks like a client that leaves: the key was locked for maxRunMs.
	test('a handler that throws after the head releases the key', async () => {
		const { store, seen, ended } = observedStore()
		const engine = engineOf({ store })
		const url = await serve((app) =>
			app.post('/charges', expressIdempotency(engine), (_req, res) => {
				res.writeHead(201).write('first bytes')
				if (seen.claims === 1) throw new Error('failed after the head')
				res.end()
			}),
		)
		await expect(send(url)).rejects.toThrow()
		await ended
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
		expect((await send(url)).headers['idempotency-replayed']).toBeUndefined()
	})

	test.each(['destroy', 'resetAndDestroy'] as const)(
		'a client that leaves after the head (%s) does not release the key: the handler goes on',
		async (leave) => {
			const { store, seen, ended } = observedStore()
			const engine = engineOf({ store })
			const gone = Promise.withResolvers<void>()
			const url = await serve((app) => {
				app.use((_req, res, next) => {
					// Added before the adapter, which holds the event back from later listeners.
					res.socket?.once('close', () => gone.resolve())
					next()
				})
				app.post('/charges', expressIdempotency(engine), async (_req, res) => {
					res.writeHead(201).write('first bytes')
					await gone.promise
					await new Promise(setImmediate)
					res.end('last bytes')
				})
			})
			const socket = connect(Number(new URL(url).port), '127.0.0.1')
			socket.write(
				'POST /charges HTTP/1.1\r\nHost: a\r\nX-User: ada\r\nIdempotency-Key: k1\r\nContent-Length: 0\r\n\r\n',
			)
			await once(socket, 'data')
			socket[leave]()
			await ended
			expect(seen).toEqual({ claims: 1, releases: 0, completions: 1 })
		},
	)

	// Node destroys the socket, as Express does for a handler that throws: a repeated request ran beside the first one.
	test('a socket that is idle for too long does not release the key: the handler goes on', async () => {
		const { store, seen, ended } = observedStore()
		const engine = engineOf({ store })
		const gone = Promise.withResolvers<void>()
		const url = await serve((app) =>
			app.post('/charges', expressIdempotency(engine), async (_req, res) => {
				res.writeHead(201).write('first bytes')
				res.socket?.once('close', () => gone.resolve()).setTimeout(10)
				await gone.promise
				await new Promise(setImmediate)
				res.end('last bytes')
			}),
		)
		await expect(send(url)).rejects.toThrow()
		await ended
		expect(seen).toEqual({ claims: 1, releases: 0, completions: 1 })
	})

	test('files, redirects and JSON of a status are replayed', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			app.use(expressIdempotency(engine))
			app.post('/file', (_req, res) => res.sendFile(fileURLToPath(import.meta.url)))
			app.post('/redirect', (_req, res) => res.redirect(303, '/charges/1'))
			app.post('/status', (_req, res) => void res.sendStatus(202))
		})
		for (const path of ['/file', '/redirect', '/status']) {
			const first = await send(url, { path })
			const replay = await send(url, { path })
			expect([replay.status, replay.headers['idempotency-replayed']]).toEqual([first.status, 'true'])
			expect(replay.body.equals(first.body)).toBe(true)
			for (const name of ['content-type', 'location', 'etag', 'content-length'])
				expect([name, replay.headers[name]]).toEqual([name, first.headers[name]])
		}
	})

	test('the response of the error handler decides by its status', async () => {
		const engine = engineOf()
		const handler = vi.fn((req: Request, _res: Response, next: (error: unknown) => void) => {
			next(Object.assign(new Error('failed'), { status: Number(req.query['status']) }))
		})
		const url = await serve((app) => app.post('/charges', expressIdempotency(engine), handler))
		expect((await send(url, { path: '/charges?status=500' })).status).toBe(500)
		expect((await send(url, { path: '/charges?status=500' })).headers['idempotency-replayed']).toBeUndefined()
		expect((await send(url, { key: 'k2', path: '/charges?status=404' })).status).toBe(404)
		expect(
			(await send(url, { key: 'k2', path: '/charges?status=404' })).headers['idempotency-replayed'],
		).toBe('true')
		expect(handler).toHaveBeenCalledTimes(3)
	})

	test('a lost lease is a response with status 409', async () => {
		const engine = engineOf()
		const url = await serve((app) =>
			app.post('/charges', expressIdempotency(engine), () => {
				throw new IdempotencyLeaseLostError()
			}),
		)
		expect((await send(url)).status).toBe(409)
	})

	test('an error of principal is passed to the error handler', async () => {
		const engine = engineOf({
			principal: () => {
				throw Object.assign(new Error('no session'), { status: 418 })
			},
		})
		const url = await serve((app) => app.post('/charges', expressIdempotency(engine)))
		expect((await send(url)).status).toBe(418)
	})

	// next(undefined) ran the handler, although no caller was authenticated.
	test.each([undefined, null, '', 'route', 'router'])(
		'the handler does not run if principal rejects with %j',
		async (reason) => {
			const engine = engineOf({ principal: () => Promise.reject(reason) })
			const handler = vi.fn((_req: Request, res: Response) => void res.send('done'))
			const url = await serve((app) => app.post('/charges', expressIdempotency(engine), handler))
			expect((await send(url)).status).toBe(500)
			expect(handler).not.toHaveBeenCalled()
		},
	)

	test('middleware of the application and of the route claim once', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			app.use(expressIdempotency(engine))
			app.post('/charges', expressIdempotency(engine), (_req, res) => void res.send('done'))
		})
		expect((await send(url)).body.toString()).toBe('done')
		expect((await send(url)).headers['idempotency-replayed']).toBe('true')
	})

	test('headers of earlier middleware are sent with a replay, once', async () => {
		const engine = engineOf()
		const url = await serve((app) => {
			app.use((_req, res, next) => {
				res.append('Vary', 'Origin')
				res.set('Access-Control-Allow-Origin', '*')
				next()
			})
			app.post('/charges', expressIdempotency(engine), (_req, res) => void res.vary('Accept').send('x'))
		})
		for (const response of [await send(url), await send(url)]) {
			expect(response.headers['access-control-allow-origin']).toBe('*')
			expect(response.headers['vary']).toBe('Origin, Accept')
		}
	})

	test.each(['before', 'after'])(
		'compression %s the adapter: a replay has the encoding of its bytes',
		async (at) => {
			const engine = engineOf()
			const url = await serve((app) => {
				if (at === 'before') app.use(compressing)
				app.use(expressIdempotency(engine))
				if (at === 'after') app.use(compressing)
				app.post('/send', (_req, res) => void res.type('text').send('x'.repeat(5_000)))
				app.post('/stream', (_req, res) => {
					res.write('x'.repeat(2_500))
					res.end('x'.repeat(2_500))
				})
			})
			const headers = { 'accept-encoding': 'gzip' }
			for (const path of ['/send', '/stream'])
				for (const replayed of [undefined, 'true']) {
					const response = await send(url, { path, headers })
					expect([response.headers['content-encoding'], response.headers['idempotency-replayed']]).toEqual([
						'gzip',
						replayed,
					])
					expect(gunzipSync(response.body).toString()).toBe('x'.repeat(5_000))
					expect(response.headers['vary']).toBe('accept-encoding')
				}
			if (at === 'before')
				expect((await send(url, { path: '/send' })).body.toString()).toBe('x'.repeat(5_000))
		},
	)
})
