import express, { type NextFunction, type Request, type Response } from 'express'
import pg from 'pg'
import { listening } from '../../../test/shop/listening.ts'
import type { Order } from '../../../test/shop/plan.ts'
import { service } from '../../../test/shop/service.ts'
import { inTransaction } from '../transaction.ts'
import { resilientAxios } from './client.ts'
import { openQueue, QUEUE } from './queue.ts'

await service(async ({ port, database, payments: baseURL }) => {
	const pool = new pg.Pool({ connectionString: database }).on('error', () => {})
	const payments = resilientAxios(baseURL)
	const boss = await openQueue(database)

	const app = express()
	app.post('/orders', express.json(), async (req, res) => {
		const order = req.body as Order
		const known = await pool.query('select id, receipt from orders where id = $1', [order.id])
		if (known.rows[0]) return void res.status(201).json(known.rows[0])
		const { receipt } = await payments.post<{ receipt: string }>('/payments', order, order.id)
		await inTransaction(pool, async (tx) => {
			const inserted = await tx.query(
				'insert into orders (id, cents, receipt) values ($1, $2, $3) on conflict do nothing',
				[order.id, order.cents, receipt],
			)
			// A concurrent request with the same key was faster, and has sent the event.
			if (inserted.rowCount === 0) return
			await boss.send(QUEUE, order, {
				db: { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) },
			})
		})
		res.status(201).json({ id: order.id, receipt })
	})
	app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
		res.status(503).json({ error: String(error) })
	})
	await listening(app.listen(port, '127.0.0.1'))
	return undefined
})
