import express, { type NextFunction, type Request, type Response } from 'express'
import pg from 'pg'
import { listening } from '../../../test/shop/listening.ts'
import type { Order } from '../../../test/shop/plan.ts'
import { service } from '../../../test/shop/service.ts'
import { post } from './post.ts'

await service(async ({ port, database, payments, mail }) => {
	const pool = new pg.Pool({ connectionString: database }).on('error', () => {})

	const app = express()
	app.post('/orders', express.json(), async (req, res) => {
		const order = req.body as Order
		const { receipt } = await post<{ receipt: string }>(`${payments}/payments`, order)
		await pool.query('insert into orders (id, cents, receipt) values ($1, $2, $3) on conflict do nothing', [
			order.id,
			order.cents,
			receipt,
		])
		// The order exists, whether or not its customer gets a mail.
		post(`${mail}/mails`, order).catch(() => {})
		res.status(201).json({ id: order.id, receipt })
	})
	app.use((error: unknown, _req: Request, res: Response, _next: NextFunction) => {
		res.status(503).json({ error: String(error) })
	})
	await listening(app.listen(port, '127.0.0.1'))
	return undefined
})
