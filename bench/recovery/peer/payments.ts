import { fastify } from 'fastify'
import pg from 'pg'
import type { Order } from '../../../test/shop/plan.ts'
import { service } from '../../../test/shop/service.ts'
import { resilientAxios } from './client.ts'

await service(async ({ port, database, bank: baseURL }) => {
	const pool = new pg.Pool({ connectionString: database }).on('error', () => {})
	const bank = resilientAxios(baseURL)

	const app = fastify()
	app.setErrorHandler((error, _request, reply) => reply.code(503).send({ error: String(error) }))
	app.post('/payments', async (request, reply) => {
		const order = request.body as Order
		const known = await pool.query('select receipt from payments where id = $1', [order.id])
		if (known.rows[0]) return reply.code(201).send(known.rows[0])
		const { receipt } = await bank.post<{ receipt: string }>('/charges', order, order.id)
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
