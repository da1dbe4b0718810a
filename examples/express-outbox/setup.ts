/** Creates the tables. Run it once. */
import { outbox, pool } from './shop.ts'

await outbox.migrate() // the tables of the outbox, in a schema of their own
await pool.query(`
	-- Of the shop.
	CREATE TABLE orders (id text PRIMARY KEY, cents int NOT NULL CHECK (cents > 0), email text NOT NULL);
	-- Of the mail service.
	CREATE TABLE mails (order_id text NOT NULL, email text NOT NULL)
`)
await pool.end()
console.log('The tables exist.')
