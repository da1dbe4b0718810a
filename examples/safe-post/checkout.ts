/** What the button "Pay" of the tea shop does: node checkout.ts ORDER CENTS */
import { randomUUID } from 'node:crypto'
import { explain, HttpError } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { pool } from './database.ts'

const [order = 'o-1', cents = '1200'] = process.argv.slice(2)

// The first click stores the order with the key of its payment. A later click finds both.
const insert = 'INSERT INTO orders VALUES ($1, $2) ON CONFLICT (id) DO NOTHING'
await pool.query(insert, [order, randomUUID()])
const { rows } = await pool.query('SELECT payment_key FROM orders WHERE id = $1', [order])
await pool.end()
const idempotencyKey: string = rows[0].payment_key
console.log(`key ${idempotencyKey}`)

const { PAYMENTS_URL = 'http://127.0.0.1:3000' } = process.env
const payments = new ResilientHttpClient({
	baseUrl: PAYMENTS_URL,
	headers: { authorization: 'Bearer token-of-tea-shop' },
	maxRetries: 5,
	jitterStrategy: 'proportional', // at least 1, 2, 4, 8 and 16 s between attempts: a restart takes less
})

try {
	const json = { order, cents: Number(cents) }
	const response = await payments.post('/charges', { json, yaoki: { idempotencyKey } })
	console.log(response.status, await response.text())
	if (response.headers.has('idempotency-replayed')) console.log('This is a replay.')
	console.log(String(explain(response)))
} catch (error) {
	if (!(error instanceof HttpError)) throw error
	console.log(error.statusCode, error.body)
}
