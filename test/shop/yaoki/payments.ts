import { fastify } from 'fastify'
import { Pool } from 'pg'
import { fastifyServerContext, getServerContext, ResilientHttpClient } from 'yaoki/http'
import { fastifyIdempotency, idempotency, postgresIdempotencyStore } from 'yaoki/idempotency'
import type { Order } from '../plan.ts'
import { service } from '../service.ts'
import { noteCircuits, noteStore } from './notes.ts'

await service(async ({ port, database, bank: baseUrl }) => {
	const pool = new Pool({ connectionString: database }).on('error', () => {})
	const store = postgresIdempotencyStore({ client: pool })
	const engine = idempotency({ name: 'payments', store, principal: () => 'orders' })
	const bank = new ResilientHttpClient({ baseUrl })
	noteCircuits(bank)
	noteStore(engine)
	await store.migrate()

	const app = fastify()
	await app.register(fastifyServerContext())
	await app.register(fastifyIdempotency(engine))
	app.setErrorHandler((error, _request, reply) => reply.code(503).send({ error: String(error) }))
	app.post('/payments', async (request) => {
		const order = request.body as Order
		const context = engine.context(request)
		const parent = getServerContext(request)
		const { receipt } = await context.step('charge', ({ idempotencyKey }) =>
			bank.post('/charges', { json: order, yaoki: { idempotencyKey, parent } }).json<{ receipt: string }>(),
		)
		return context.transaction(async (tx) => {
			await tx.query('insert into payments (id, cents, receipt) values ($1, $2, $3)', [
				order.id,
				order.cents,
				receipt,
			])
			return Response.json({ receipt }, { status: 201 })
		})
	})
	await app.listen({ port, host: '127.0.0.1' })
	return undefined
})
