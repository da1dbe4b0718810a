/**
 * Drizzle on `better-sqlite3`: with the package, and with its rules on `node:sqlite`. A transaction is one
 * synchronous call, so the suite of the others does not fit.
 */
import { join } from 'node:path'

import { sql } from 'drizzle-orm'
import { BetterSQLiteSession } from 'drizzle-orm/better-sqlite3/session'
import { BaseSQLiteDatabase, integer, SQLiteSyncDialect, sqliteTable } from 'drizzle-orm/sqlite-core'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
	drizzleTx,
	Inbox,
	Outbox,
	type OutboxOptions,
	postgresOutboxStore,
	sqliteInboxStore,
	sqliteOutboxStore,
} from 'yaoki/outbox'
import { betterDrivers, type OpenBetter } from '../outbox/enqueue/better-sqlite.ts'
import { temporaryFile } from '../support/temporary-file.ts'
import { ORMS } from './support/installed.ts'

const MESSAGE = { topic: 'order.placed', payload: { total: 1 } }
const ROLLBACK = new Error('rolled back on purpose')
const orders = sqliteTable('orders', { id: integer().primaryKey() })

async function openShop(open: OpenBetter, options: Partial<OutboxOptions> = {}) {
	const file = temporaryFile()
	const client = open(file, { timeout: 5_000 })
	client.exec('create table orders (id integer primary key)')
	// As drizzle(client) does, whose module imports better-sqlite3.
	const dialect = new SQLiteSyncDialect()
	const session = new BetterSQLiteSession(client as never, dialect, undefined)
	const db = new BaseSQLiteDatabase<'sync', unknown, Record<string, never>>(
		'sync',
		dialect,
		session as never,
		undefined,
	)
	const outbox = new Outbox({ store: sqliteOutboxStore({ file, open: (name) => open(name) }), ...options })
	const inbox = new Inbox({ store: sqliteInboxStore({ file, open: (name) => open(name) }), purgeEveryMs: 0 })
	await outbox.migrate()
	await inbox.migrate()
	onTestFinished(async () => {
		await outbox.close()
		await inbox.close()
		client.close()
	})
	const transaction = <T>(work: (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]) => T): T =>
		db.transaction(work, { behavior: 'immediate' })
	const counts = async () => {
		const { count: messages } = (await outbox.stats()).totals.due
		return {
			orders: db.select().from(orders).all().length,
			messages,
			marks: (await inbox.stats()).marks.count,
		}
	}
	return { db, client, outbox, inbox, transaction, counts }
}

describe.each(betterDrivers(join(ORMS, 'package.json')))('Drizzle with SQLite: %s', (_, open) => {
	test('a commit makes the change, the message and the mark visible', async () => {
		const { outbox, inbox, transaction, counts } = await openShop(open, { outsideTransaction: 'reject' })
		const place = (id: number) =>
			transaction((tx) =>
				inbox.onceSync('m1', { tx: drizzleTx(tx) }, () => {
					tx.insert(orders).values({ id }).run()
					return outbox.enqueueSync(MESSAGE, { tx: drizzleTx(tx) }).isDuplicate
				}),
			)
		expect(place(1)).toEqual({ isDuplicate: false, value: false })
		expect(place(2)).toEqual({ isDuplicate: true })
		expect(await counts()).toEqual({ orders: 1, messages: 1, marks: 1 })
	})

	test('a rollback leaves neither the change nor the message nor the mark', async () => {
		const { outbox, inbox, transaction, counts } = await openShop(open)
		const rolledBack = () =>
			transaction((tx) => {
				inbox.onceSync('m1', { tx: drizzleTx(tx) }, () => tx.insert(orders).values({ id: 1 }).run())
				outbox.enqueueSync(MESSAGE, { tx: drizzleTx(tx) })
				throw ROLLBACK
			})
		expect(rolledBack).toThrow(ROLLBACK)
		expect(await counts()).toEqual({ orders: 0, messages: 0, marks: 0 })
	})

	test('a transaction within a transaction takes the message with it', async () => {
		const { outbox, transaction, counts } = await openShop(open)
		transaction((tx) => {
			tx.insert(orders).values({ id: 1 }).run()
			const inner = () =>
				tx.transaction((nested) => {
					outbox.enqueueSync(MESSAGE, { tx: drizzleTx(nested) })
					throw ROLLBACK
				})
			expect(inner).toThrow(ROLLBACK)
		})
		expect(await counts()).toEqual({ orders: 1, messages: 0, marks: 0 })
	})

	test('after its end the transaction is rejected', async () => {
		const { outbox, inbox, transaction, counts } = await openShop(open, { outsideTransaction: 'reject' })
		let ended: unknown
		const used = transaction((tx) => {
			ended = tx
			return drizzleTx(tx)
		})
		expect(() => drizzleTx(ended as never)).toThrow(
			expect.objectContaining({ code: 'YAOKI_TRANSACTION_CLOSED' }),
		)
		expect(() => outbox.enqueueSync(MESSAGE, { tx: used })).toThrow(
			expect.objectContaining({ code: 'YAOKI_OUTBOX_TRANSACTION', reason: 'outside-transaction' }),
		)
		expect(() => inbox.onceSync('m1', { tx: used }, () => {})).toThrow(
			expect.objectContaining({ code: 'YAOKI_INBOX_TRANSACTION', reason: 'outside-transaction' }),
		)
		expect(await counts()).toEqual({ orders: 0, messages: 0, marks: 0 })
	})

	test('the own object of Drizzle is rejected, and the error names the function', async () => {
		const { outbox, inbox, transaction, counts } = await openShop(open)
		for (const use of [
			(tx: never) => outbox.enqueueSync(MESSAGE, { tx }),
			(tx: never) => inbox.onceSync('m1', { tx }, () => {}),
		])
			expect(() => transaction((tx) => use(tx as never))).toThrow(
				/drizzleTx\(tx\) in the callback of db\.transaction/,
			)
		expect(await counts()).toEqual({ orders: 0, messages: 0, marks: 0 })
	})

	test('the database itself is rejected immediately', async () => {
		const { db } = await openShop(open)
		expect(() => drizzleTx(db as never)).toThrow(expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT' }))
	})

	test('a transaction that cannot write is an error, and nothing is written', async () => {
		const { db, outbox, transaction, counts } = await openShop(open)
		db.run(sql`pragma query_only = on`)
		const readOnly = () => transaction((tx) => outbox.enqueueSync(MESSAGE, { tx: drizzleTx(tx) }))
		expect(readOnly).toThrow(/readonly database/)
		expect(await counts()).toEqual({ orders: 0, messages: 0, marks: 0 })
	})

	test('an outbox in PostgreSQL rejects the transaction', async () => {
		const { transaction } = await openShop(open)
		const pool = new pg.Pool()
		onTestFinished(() => pool.end())
		const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }) })
		const errors: Promise<unknown>[] = []
		transaction((tx) => {
			errors.push(outbox.enqueue(MESSAGE, { tx: drizzleTx(tx) }).catch(String))
		})
		expect(await errors[0]).toMatch(/Invalid tx for an outbox with the store postgres/)
		await outbox.close()
	})
})
