import { fastify } from 'fastify'
import pg from 'pg'
import type { Order } from '../../../test/shop/plan.ts'
import { service } from '../../../test/shop/service.ts'
import { post } from './post.ts'

await service(async ({ port, database, bank }) => {
	const pool = new pg.Pool({ connectionString: database }).on('error', () => {})

	const app = fastify()
	app.setErrorHandler((error, _request, reply) => reply.code(503).send({ error: String(error) }))
	app.post('/payments', async (request, reply) => {
		const order = request.body as Order
		const { receipt } = await post<{ receipt: string }>(`${bank}/charges`, order)
		await pool.query('insert into payments (id, cents, receipt) values ($1, $2, $3) on conflict do nothing', [
			order.id,
			order.cents,
			receipt,
		])
		return reply.code(201).send({ receipt })
	})
	await app.listen({ port, host: '127.0.0.1' })
	return undefined
})
