/** The shop: an Express server that places orders. A client that got no response sends its order again. */
import express from 'express'
import pg from 'pg'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'
import { readInput, reportRunning } from './process.ts'

export const { url, port } = readInput()
export const pool = new pg.Pool({ connectionString: url })
export const outbox = new Outbox({
	store: postgresOutboxStore({ client: pool }),
	outsideTransaction: 'reject',
})

export const messageOf = (orderId: number) => ({ topic: 'order.placed', payload: { orderId } })

/** `place` writes an order and its message in one transaction, and returns false if the order exists. */
export function serveOrders(place: (orderId: number) => Promise<boolean>): void {
	const app = express()
	app.put('/orders/:id', async (request, response) => {
		response.sendStatus((await place(Number(request.params.id))) ? 201 : 200)
	})
	app.listen(port, '127.0.0.1', reportRunning)
}
