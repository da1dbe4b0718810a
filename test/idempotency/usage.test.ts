/** The usage that the documentation promises, with the types of the real frameworks and drivers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import express, { type Request as ExpressRequest } from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import {
	expressIdempotency,
	fastifyIdempotency,
	fetchIdempotency,
	honoIdempotency,
	idempotency,
	memoryIdempotencyStore,
	nodeIdempotency,
	postgresIdempotencyStore,
	sqliteIdempotencyStore,
} from 'yaoki/idempotency'

const authenticatedUser = (_raw: unknown): { id: string } | undefined => ({ id: 'user-7' })
const stripe = {
	charge: async (order: string, { idempotencyKey }: { idempotencyKey: string }) => ({
		order,
		idempotencyKey,
	}),
}

const engine = idempotency({
	store: memoryIdempotencyStore(),
	principal: ({ raw }) => authenticatedUser(raw)?.id,
})

const post = { method: 'POST', headers: { 'idempotency-key': 'k' }, body: 'order' }

describe('the documented usage', () => {
	test('a fetch handler gets what the platform passes after the request', async () => {
		const seen: unknown[] = []
		const worker = {
			fetch: fetchIdempotency(engine, async (request, context, ...rest) => {
				seen.push(...rest)
				const order = await request.text()
				return Response.json(await context.step('charge', (step) => stripe.charge(order, step)))
			}),
		}
		const [env, ctx] = [{ NAME: 'shop' }, { waitUntil: () => {} }]
		const first = await worker.fetch(new Request('https://shop.example.com/a', post), env, ctx)
		const { order, idempotencyKey } = await first.json()
		expect([order, typeof idempotencyKey]).toEqual(['order', 'string'])
		expect(seen).toEqual([env, ctx])
		const second = await worker.fetch(new Request('https://shop.example.com/a', post), env, ctx)
		expect(second.headers.get('idempotency-replayed')).toBe('true')
		expect(await second.json()).toEqual({ order, idempotencyKey })
	})

	test('Hono', async () => {
		const app = new Hono()
		app.use('/charges', honoIdempotency(engine))
		let calls = 0
		app.post('/charges', async (c) => {
			const context = engine.context(c)
			return c.json({ call: ++calls, isProtected: context.isProtected }, 201)
		})
		await (await app.request('/charges', post)).text()
		expect(await (await app.request('/charges', post)).json()).toEqual({ call: 1, isProtected: true })
	})

	test('Fastify', async () => {
		const app = fastify()
		app.register(fastifyIdempotency(engine))
		let calls = 0
		app.post('/fastify', async (request, reply) => {
			reply.code(201)
			return { call: ++calls, isProtected: engine.context(request).isProtected }
		})
		const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' }
		const request = { method: 'POST', url: '/fastify', headers, payload: '{"a":1}' } as const
		await app.inject(request)
		const { statusCode, body } = await app.inject(request)
		expect([statusCode, JSON.parse(body)]).toEqual([201, { call: 1, isProtected: true }])
		await app.close()
	})

	test('Express and Node accept the middleware and the handler', () => {
		const app = express()
		app.post('/charges', expressIdempotency(engine), (req: ExpressRequest, res) => {
			res.json(engine.context(req).isProtected)
		})
		const server = createServer(
			nodeIdempotency(engine, (_request: IncomingMessage, response: ServerResponse, context) => {
				response.end(String(context.isProtected))
			}),
		)
		// The same with parameters whose types are inferred.
		createServer(nodeIdempotency(engine, (_request, response) => response.end()))
		expect(server.listening).toBe(false)
	})

	test('a transaction has the type of the driver', () => {
		const onPostgres = idempotency({
			name: 'payments',
			store: postgresIdempotencyStore({ client: new pg.Pool() }),
			principal: () => 'anonymous',
		})
		const onSqlite = idempotency({
			name: 'payments',
			store: sqliteIdempotencyStore(':memory:'),
			principal: () => 'anonymous',
		})
		fetchIdempotency(onPostgres, (_request, context) =>
			context.transaction(async (tx) => {
				const inserted: pg.QueryResult<{ id: string }> = await tx.query('insert into orders default values')
				return Response.json(inserted.rows)
			}),
		)
		fetchIdempotency(onSqlite, (_request, context) =>
			context.transaction((tx) => Response.json(tx.prepare('select 1 as one').get() ?? {})),
		)
		expect([onPostgres.stats, onSqlite.stats]).toEqual(
			Array(2).fill({ running: 0, unstored: 0, storeCircuit: 'closed' }),
		)
	})
})
