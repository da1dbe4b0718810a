/** The payment service: POST /charges. With `node server.ts crash` the process dies in the middle of its first charge. */
import express from 'express'
import { expressIdempotency, idempotency, postgresIdempotencyStore } from 'yaoki/idempotency'
import { chargeCard } from './bank.ts'
import { pool } from './database.ts'

// The callers of the service, by their tokens.
const callers = new Map([['Bearer token-of-tea-shop', 'tea-shop']])

const engine = idempotency({
	name: 'payments', // the service: a part of every key
	store: postgresIdempotencyStore({ client: pool }),
	principal: ({ headers }) => callers.get(headers.get('authorization') ?? ''), // undefined: the caller gets 401
	required: true, // a request without a key gets 400
})
engine.subscribe(({ type }) => console.log(type))

const app = express()
app.post('/charges', expressIdempotency(engine), express.json(), async (req) => {
	const { order, cents } = req.body as { order: string; cents: number }
	const context = engine.context(req)

	// The bank is outside of our database. The result of a step is stored, and its key is the same in every run.
	const receipt = await context.step('charge', async ({ idempotencyKey }) => {
		const charged = await chargeCard(order, cents, idempotencyKey)
		if (process.argv[2] === 'crash') process.kill(process.pid, 'SIGKILL') // the worst moment
		return charged
	})

	// Our own writes and the response are committed together. The response is sent after the commit.
	await context.transaction(async (tx) => {
		await tx.query('INSERT INTO payments VALUES ($1, $2, $3)', [order, cents, receipt])
		return Response.json({ receipt, cents }, { status: 201 })
	})
})

const { PORT = '3000' } = process.env
const server = app.listen(Number(PORT), '127.0.0.1', () => console.log('The payment service listens.'))

function stop(): void {
	server.close(async () => {
		await engine.close()
		await pool.end()
	})
}
process.once('SIGINT', stop) // Ctrl-C
process.once('SIGTERM', stop)
