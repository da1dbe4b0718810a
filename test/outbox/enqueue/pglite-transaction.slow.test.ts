import { PGlite } from '@electric-sql/pglite'
import { expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { postgresOutboxStore } from '../../../src/outbox/store/postgres/postgres-store.ts'
import { type Opened, testTransactions } from './transaction-suite.ts'

async function openPGlite(): Promise<Opened> {
	const db = await PGlite.create()
	const store = postgresOutboxStore({ client: db })
	return {
		store,
		outside: db,
		async inTransaction(end, work) {
			await db.transaction(async (tx) => {
				await work(tx)
				if (end === 'ROLLBACK') await tx.rollback()
			})
		},
		async close() {
			await store.close()
			await db.close()
		},
	}
}

testTransactions('PGlite', openPGlite)

test('accepts a transaction that was started by a BEGIN query on PGlite', async () => {
	const opened = await openPGlite()
	await opened.store.migrate()
	const outbox = new Outbox({ store: opened.store, outsideTransaction: 'reject' })
	const db = opened.outside as PGlite
	await db.query('BEGIN')
	const { id } = await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx: db })
	await db.query('COMMIT')
	expect(await outbox.find(id)).toBeDefined()
	await opened.close()
})
