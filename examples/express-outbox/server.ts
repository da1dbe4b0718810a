/** The shop: POST /orders writes an order and its message in one transaction. */
import express, { type ErrorRequestHandler } from 'express'
import { outbox, pool } from './shop.ts'

const app = express()
app.post('/orders', express.json(), async (req, res) => {
	const order = req.body as { id: string; cents: number; email: string }
	const client = await pool.connect()
	try {
		await client.query('BEGIN')
		const message = await outbox.enqueue({ topic: 'order.placed', payload: order }, { tx: client })
		await client.query('INSERT INTO orders VALUES ($1, $2, $3)', [order.id, order.cents, order.email])
		await client.query('COMMIT')
		res.status(201).json({ order: order.id, message: message.id })
	} catch (error) {
		await client.query('ROLLBACK')
		throw error
	} finally {
		client.release()
	}
})

const onError: ErrorRequestHandler = (error, _req, res, _next) => {
	res.status(500).json({ error: error.message })
}
app.use(onError)

const { PORT = '3000' } = process.env
app.listen(Number(PORT), '127.0.0.1', () => console.log('The shop listens.'))
