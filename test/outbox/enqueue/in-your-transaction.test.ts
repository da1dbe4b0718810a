/** The outbox in front of the real stores: what is promised about your transaction holds with each of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PGlite } from '@electric-sql/pglite'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { postgresStore } from '../../../src/outbox/store/postgres/postgres-store.ts'
import type { Queryable } from '../../../src/outbox/store/queryable.ts'
import { sqliteStore } from '../../../src/outbox/store/sqlite/index.ts'
import type { Store } from '../../../src/outbox/store/store.ts'
import { trackConnections } from '../notify/track-connections.ts'
import { postgresDatabase } from '../postgres-database.ts'

interface Opened {
	readonly store: Store
	/** Runs `work` in a transaction of the user's own and ends it so. */
	inTransaction(end: 'COMMIT' | 'ROLLBACK', work: (tx: Queryable) => Promise<unknown>): Promise<void>
	/** A client that commits each statement. */
	readonly outside: Queryable
	close(): Promise<void>
}

function openSqlite(): Promise<Opened> {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-front-'))
	const file = join(folder, 'outbox.db')
	const store = sqliteStore(file)
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
	const store = postgresStore({ client: pool })
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

async function openPGlite(): Promise<Opened> {
	const db = await PGlite.create()
	const store = postgresStore({ client: db })
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

describe.each([
	['SQLite', openSqlite],
	['PostgreSQL', openPostgres],
	['PGlite', openPGlite],
])('with %s', (name, open) => {
	let opened: Opened

	beforeAll(async () => {
		opened = await open()
		await opened.store.migrate()
	}, 120_000)

	afterAll(() => opened?.close(), 120_000)

	function outboxOf(outsideTransaction: 'warn' | 'reject' = 'warn') {
		const warnings: string[] = []
		const { store } = opened
		return {
			warnings,
			outbox: new Outbox({ store, outsideTransaction, onWarning: (text) => warnings.push(text) }),
		}
	}

	test('a committed message is stored without a warning and wakes the local relay', async () => {
		const { outbox, warnings } = outboxOf()
		let ids: readonly string[] = []
		const woken = new Promise<void>((wake) => {
			outbox.attach({ serves: (to) => to === 'mail', wake, stop: async () => {} })
		})
		await opened.inTransaction('COMMIT', async (tx) => {
			const messages = Array.from({ length: 3 }, (_, payload) => ({ topic: 'mail', payload, key: 'k' }))
			ids = (await outbox.enqueue(messages, { tx })).map(({ id }) => id)
		})
		await woken
		for (const [index, id] of ids.entries())
			expect(await outbox.find(id)).toMatchObject({
				id,
				payload: index,
				destination: 'mail',
				status: 'pending',
			})
		expect(warnings).toEqual([])
	})

	test('a rolled back message is not stored', async () => {
		const { outbox } = outboxOf()
		let id = ''
		await opened.inTransaction('ROLLBACK', async (tx) => {
			id = (await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).id
		})
		expect(await outbox.find(id)).toBeUndefined()
	})

	test('a rejected message does not abort the transaction', async () => {
		const { outbox } = outboxOf('reject')
		let id = ''
		await opened.inTransaction('COMMIT', async (tx) => {
			await expect(outbox.enqueue({ topic: 'mail', payload: 1n }, { tx })).rejects.toThrow('bigint')
			id = (await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).id
		})
		expect(await outbox.find(id)).toBeDefined()
	})

	test('NUL, lone surrogates and strings of maximum length are preserved', async () => {
		const { outbox } = outboxOf()
		const payload = { text: 'a\0b\ud800', ['\udc00']: ['日本', '\ud83d\ude00', -0.5, 2 ** 53, null, true] }
		// Varied bytes, which an index cannot compress.
		const long = (bytes: number) =>
			Array.from({ length: bytes }, (_, i) => ((i * 7919) % 36).toString(36)).join('')
		const texts = { topic: long(255), destination: long(255), key: long(1_024), dedupeKey: long(1_024) }
		const headers = { 'x-Odd~name': '日本', ['__proto__']: 'a' }
		const message = { ...texts, payload, headers, maxRetries: 2 ** 31 - 1 }
		const { id } = await outbox.enqueue(message, { withoutTransaction: true })
		expect(await outbox.find(id)).toMatchObject(message)
		expect(await outbox.enqueue(message, { withoutTransaction: true })).toEqual({ id, isDuplicate: true })
	})

	test('warns or rejects without a tx', async () => {
		const { outbox, warnings } = outboxOf()
		await outbox.enqueue({ topic: 'mail', payload: 1 })
		expect(warnings).toHaveLength(1)
		const strict = outboxOf('reject').outbox
		await expect(strict.enqueue({ topic: 'mail', payload: 1 })).rejects.toMatchObject({
			reason: 'outside-transaction',
		})
	})

	test('warns or rejects for a tx without an open transaction', async () => {
		const { outbox, warnings } = outboxOf()
		await outbox.enqueue({ topic: 'mail', payload: 1 }, { tx: opened.outside })
		expect(warnings).toEqual([expect.stringContaining('no open transaction')])
		const strict = outboxOf('reject').outbox
		const before = (await outbox.list({}, { limit: 1_000 })).length
		await expect(strict.enqueue({ topic: 'mail', payload: 1 }, { tx: opened.outside })).rejects.toMatchObject(
			{ reason: 'outside-transaction' },
		)
		expect(await outbox.list({}, { limit: 1_000 })).toHaveLength(before)
	})

	test('rejects a tx of another database', async () => {
		const { outbox } = outboxOf()
		const query = () => Promise.resolve({ rows: [] })
		const prepare = () => ({ all: () => [] })
		const tx = name === 'SQLite' ? { query } : { prepare }
		await expect(outbox.enqueue({ topic: 'mail', payload: 1 }, { tx })).rejects.toMatchObject({
			reason: 'wrong-database',
		})
	})
})

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
