import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { postgresOutboxStore } from '../../../src/outbox/store/postgres/postgres-store.ts'
import { sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import { postgresDatabase } from '../../support/postgres-database.ts'
import { trackConnections } from '../notify/track-connections.ts'
import { type Opened, testTransactions } from './transaction-suite.ts'

function openSqlite(): Promise<Opened> {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-front-'))
	const file = join(folder, 'outbox.db')
	const store = sqliteOutboxStore(file)
	const db = new DatabaseSync(file)
	return Promise.resolve({
		store,
		outside: db,
		async inTransaction(end, work) {
			db.exec('BEGIN IMMEDIATE')
			await work(db)
			db.exec(end)
		},
		async close() {
			db.close()
			await store.close()
			rmSync(folder, { recursive: true, force: true })
		},
	})
}

async function openPostgres(): Promise<Opened> {
	const database = await postgresDatabase()
	const pool = new Pool(database.connection)
	const allEnded = trackConnections(pool)
	const store = postgresOutboxStore({ client: pool })
	return {
		store,
		outside: pool,
		async inTransaction(end, work) {
			const client = await pool.connect()
			await client.query('BEGIN')
			await work(client)
			await client.query(end)
			client.release()
		},
		async close() {
			await store.close()
			await pool.end()
			await allEnded()
			await database[Symbol.asyncDispose]()
		},
	}
}

testTransactions('SQLite', openSqlite)
testTransactions('PostgreSQL', openPostgres)

test('with node:sqlite a message is part of the transaction even if enqueue is not awaited before the commit', async () => {
	const opened = await openSqlite()
	await opened.store.migrate()
	const outbox = new Outbox({ store: opened.store, outsideTransaction: 'reject' })
	const db = opened.outside as DatabaseSync
	db.exec('BEGIN')
	const enqueued = outbox.enqueue({ topic: 'mail', payload: 1 }, { tx: db })
	db.exec('COMMIT')
	expect(await outbox.find((await enqueued).id)).toBeDefined()
	await opened.close()
})
