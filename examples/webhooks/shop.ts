/** The database of the shop, with the outbox and the endpoints in it. The other programs of the shop use this file. */
import { DatabaseSync } from 'node:sqlite'
import { Outbox, sqliteOutboxStore, Webhooks } from 'yaoki/outbox'

const { RECEIVER_PORT = '4000' } = process.env

export const db: DatabaseSync = new DatabaseSync('shop.db', { timeout: 5_000 })
db.exec(
	'CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, cents INTEGER NOT NULL)',
)

export const outbox: Outbox = new Outbox({ store: sqliteOutboxStore('shop.db') })
await outbox.migrate() // the tables of the outbox and of the endpoints

export const webhooks: Webhooks = new Webhooks(outbox, {
	keepEventsForMs: 86_400_000, // events can be delivered again for a day
	// For the tutorial only: its receiver is on this machine, and an endpoint that fails is disabled soon.
	ssrfProtection: { allow: ['127.0.0.1'], allowHttp: true, ports: [443, Number(RECEIVER_PORT)] },
	disableAfterMs: 1_000,
})
