/** The database of the shop, with the outbox in it. The server and the relay use this file. */
import { Pool } from 'pg'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'

const { DATABASE_URL } = process.env
if (!DATABASE_URL) throw new Error('Set DATABASE_URL in this terminal.')

export const pool: Pool = new Pool({ connectionString: DATABASE_URL })
// A connection can break while it is idle. Without a listener that would end the process.
pool.on('error', (error) => console.error(`PostgreSQL: ${error.message}`))

export const outbox: Outbox = new Outbox({
	store: postgresOutboxStore({ client: pool }),
	outsideTransaction: 'reject', // a message without a transaction is an error
	historyForMs: 86_400_000, // keep sent messages for a day, so that we can look at them
})
