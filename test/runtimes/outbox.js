/** Enqueues a message and relays it: in the PostgreSQL whose URL is given, or in a SQLite file. Prints `delivered`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Outbox, postgresOutboxStore, Relay, sqliteOutboxStore } from 'yaoki/outbox'

const url = process.argv[2]
const { store, inTransaction, close } = await (url ? inPostgres() : inSqlite())

async function inSqlite() {
	const { DatabaseSync } = await import('node:sqlite')
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-outbox-'))
	const file = join(folder, 'shop.db')
	return {
		store: sqliteOutboxStore(file),
		async inTransaction(enqueue) {
			const db = new DatabaseSync(file)
			db.exec('BEGIN IMMEDIATE')
			await enqueue(db)
			db.exec('COMMIT')
			db.close()
		},
		close: () => rmSync(folder, { recursive: true }),
	}
}

async function inPostgres() {
	const { default: pg } = await import('pg')
	const pool = new pg.Pool({ connectionString: url })
	return {
		// A schema of its own, because other runtimes use the same database.
		store: postgresOutboxStore({ client: pool, schema: `yaoki_${process.pid}` }),
		async inTransaction(enqueue) {
			const client = await pool.connect()
			await client.query('BEGIN')
			await enqueue(client)
			await client.query('COMMIT')
			client.release()
		},
		close: () => pool.end(),
	}
}

const outbox = new Outbox({ store })
await outbox.migrate()
await inTransaction((tx) => outbox.enqueue({ topic: 'order.placed', payload: { amount: 1 } }, { tx }))
const delivered = Promise.withResolvers()
const relay = new Relay(outbox, {
	destinations: { 'order.placed': { deliver: async (message) => delivered.resolve(message) } },
})
await relay.start()
const { payload } = await delivered.promise
await relay.stop()
await outbox.close()
await close()
process.stdout.write(payload.amount === 1 ? 'delivered' : JSON.stringify(payload))
