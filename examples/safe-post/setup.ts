/** Creates the tables. Run it once. */
import { postgresIdempotencyStore } from 'yaoki/idempotency'
import { pool } from './database.ts'

await pool.query(`
	-- Of the shop: an order has the key of its payment from the start.
	CREATE TABLE orders (id text PRIMARY KEY, payment_key uuid NOT NULL);
	-- Of the payment service.
	CREATE TABLE payments (order_id text PRIMARY KEY, cents int NOT NULL, receipt text NOT NULL);
	-- Of the bank.
	CREATE TABLE bank_charges (
		idempotency_key text PRIMARY KEY,
		order_id text NOT NULL,
		cents int NOT NULL,
		requests int NOT NULL DEFAULT 1
	)
`)
// The table of the idempotency keys.
await postgresIdempotencyStore({ client: pool }).migrate()
await pool.end()
console.log('The tables exist.')
