import express, { type NextFunction, type Response as Reply, type Request } from 'express'
import { Pool } from 'pg'
import { expressServerContext, getServerContext, ResilientHttpClient } from 'yaoki/http'
import { expressIdempotency, idempotency, postgresIdempotencyStore } from 'yaoki/idempotency'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'
import { listening } from '../listening.ts'
import type { Order } from '../plan.ts'
import { service } from '../service.ts'
import { noteCircuits, noteStore } from './notes.ts'

await service(async ({ port, database, payments: baseUrl }) => {
	const pool = new Pool({ connectionString: database }).on('error', () => {})
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
	const store = postgresIdempotencyStore({ client: pool })
	const engine = idempotency({ name: 'orders', store, principal: () => 'storefront' })
	const payments = new ResilientHttpClient({ baseUrl })
	noteCircuits(payments)
	noteStore(engine)
	await outbox.migrate()
	await store.migrate()

	const app = express()
	app.use(expressServerContext())
	app.post('/orders', expressIdempotency(engine), express.json(), async (req, _res) => {
		const order = req.body as Order
		const context = engine.context(req)
		const parent = getServerContext(req)
		const { receipt } = await context.step('pay', ({ idempotencyKey }) =>
			payments
				.post('/payments', { json: order, yaoki: { idempotencyKey, parent } })
				.json<{ receipt: string }>(),
		)
		await context.transaction(async (tx) => {
			await tx.query('insert into orders (id, cents, receipt) values ($1, $2, $3)', [
				order.id,
				order.cents,
				receipt,
			])
			await outbox.enqueue({ topic: 'order.placed', key: order.id, payload: order }, { tx })
			return Response.json({ id: order.id, receipt }, { status: 201 })
		})
	})
	app.use((error: unknown, _req: Request, res: Reply, _next: NextFunction) => {
		res.status(503).json({ error: String(error) })
	})
	await listening(app.listen(port, '127.0.0.1'))
	return undefined
})
