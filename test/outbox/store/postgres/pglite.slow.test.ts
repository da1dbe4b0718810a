import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { OutboxSchemaError } from '../../../../src/outbox/store/errors.ts'
import { postgresOutboxStore } from '../../../../src/outbox/store/postgres/postgres-store.ts'
import { endpointStoreConformance, outboxStoreConformance } from '../../../../src/outbox/testing/index.ts'
import { eventually } from '../../../support/eventually.ts'
import { newRow, newRows } from '../rows.ts'
import { openOnPGlite } from './opened.ts'
import { wanted } from './rows.ts'

// Takes seconds to start, so all tests share one.
let db: PGlite
beforeAll(async () => {
	db = await PGlite.create()
})
afterAll(() => db?.close())

test('enqueues in a PGlite transaction, claims and settles', async () => {
	const store = postgresOutboxStore({ client: db, schema: 'smoke' })
	await store.migrate()
	const row = newRow()
	// What a transaction of PGlite shows of its end is not believed, so the statement asks.
	const inserted = await db.transaction((tx) => store.insert([row], tx, { requiresTransaction: true }))
	expect(inserted.isInTransaction).toBe(true)
	expect((await store.insert([newRow({ destination: 'elsewhere' })], db)).isInTransaction).toBe(false)
	const { rows } = await store.claim(wanted())
	expect(rows.map(({ id }) => id)).toEqual([row.id])
	expect(await store.settle('relay', [{ type: 'sent', id: row.id, attempt: 1 }], false)).toEqual([])
	expect(await store.find(row.id)).toBeUndefined()
})

test('notifies until listening is stopped', async () => {
	const store = postgresOutboxStore({ client: db, schema: 'smoke' })
	const onNotify = vi.fn()
	const stop = await store.listen(onNotify, () => {})
	await store.notify()
	await eventually(() => expect(onNotify).toHaveBeenCalledTimes(1))
	await stop()
	await store.notify()
	await db.query('select 1')
	expect(onNotify).toHaveBeenCalledTimes(1)
	await store.close()
})

test('does not hang without tables in a transaction, although PGlite has one connection', async () => {
	const store = postgresOutboxStore({ client: db, schema: 'nowhere' })
	await expect(db.transaction((tx) => store.insert(newRows(2), tx))).rejects.toThrow(OutboxSchemaError)
})

const open = () => openOnPGlite(db, 'reused')
for (const { name, run } of [...outboxStoreConformance(open), ...endpointStoreConformance(open)])
	test(name, run)
