import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { EnqueueOptions } from '../../../src/outbox/enqueue/transaction-check.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import { isSqliteClient, type Queryable } from '../../../src/sql/clients.ts'
import { fakeStore } from '../fake-store.ts'

const message = { topic: 'a', payload: 1 }
const query = () => Promise.resolve({ rows: [] })
const client = (status: string, more: object = {}) => ({ query, getTransactionStatus: () => status, ...more })
const pool = { query, connect: () => Promise.resolve(client('I')), totalCount: 1 }

const throwing = () => {
	throw new TypeError("Cannot read properties of undefined (reading '_IsTransactionBlock')")
}
const pglite = (isInTransaction?: () => boolean) => ({
	query,
	transaction: () => {},
	listen: () => {},
	...(isInTransaction && { isInTransaction }),
})

function setup(outsideTransaction?: 'warn' | 'allow' | 'reject') {
	const store = fakeStore()
	const warnings: string[] = []
	const outbox = new Outbox({ store, outsideTransaction, onWarning: (text) => warnings.push(text) })
	return { store, warnings, outbox }
}

describe('a message outside a transaction', () => {
	test('is enqueued with a warning that names the consequence and the fix', async () => {
		const { outbox, warnings, store } = setup()
		await outbox.enqueue(message)
		expect(store.rows).toHaveLength(1)
		expect(warnings).toEqual([
			expect.stringMatching(
				/outside a transaction.*if the process crashes between the two writes.*client\.query\('BEGIN'\).*\{ tx: client \}.*\{ withoutTransaction: true \}/,
			),
		])
	})

	test('is enqueued on SQLite with a warning whose example waits for locks (regression: a plain BEGIN soon failed with a locked database)', async () => {
		const warnings: string[] = []
		const store = fakeStore({ kind: 'sqlite' })
		await new Outbox({ store, onWarning: (text) => warnings.push(text) }).enqueue(message)
		expect(warnings[0]).toMatch(/new DatabaseSync\(file, \{ timeout: 5_000 \}\).*'BEGIN IMMEDIATE'/)
	})

	test('warns once for any number of messages', async () => {
		const { outbox, warnings } = setup()
		for (let i = 0; i < 3; i++) await outbox.enqueue(message)
		await outbox.enqueue(message, { tx: pool })
		expect(warnings).toHaveLength(1)
	})

	test('does not warn with withoutTransaction', async () => {
		const { outbox, warnings, store } = setup()
		store.isInTransaction = false
		await outbox.enqueue(message, { withoutTransaction: true })
		await outbox.enqueue(message, { withoutTransaction: true, tx: client('I') })
		expect(warnings).toEqual([])
	})

	test('does not warn in mode allow', async () => {
		const { outbox, warnings, store } = setup('allow')
		store.isInTransaction = false
		await outbox.enqueue(message)
		await outbox.enqueue(message, { tx: pool })
		expect(warnings).toEqual([])
		expect(store.rows).toHaveLength(2)
	})

	test('is rejected in mode reject and not written', async () => {
		const { outbox, store } = setup('reject')
		await expect(outbox.enqueue(message)).rejects.toMatchObject({
			name: 'OutboxTransactionError',
			code: 'YAOKI_OUTBOX_TRANSACTION',
			reason: 'outside-transaction',
		})
		expect(store.rows).toEqual([])
		await outbox.enqueue(message, { withoutTransaction: true })
		expect(store.rows).toHaveLength(1)
	})

	test('warns on the console by default', async () => {
		const warned: unknown[] = []
		const { warn } = console
		console.warn = (text: unknown) => warned.push(text)
		try {
			await new Outbox({ store: fakeStore() }).enqueue(message)
		} finally {
			console.warn = warn
		}
		expect(warned).toEqual([expect.stringContaining('outside a transaction')])
	})

	test('is written even if onWarning throws', async () => {
		const store = fakeStore()
		const warned: unknown[] = []
		const { warn } = console
		console.warn = (...texts: unknown[]) => warned.push(texts)
		const onWarning = () => {
			throw new Error('no log')
		}
		try {
			await new Outbox({ store, onWarning }).enqueue(message)
		} finally {
			console.warn = warn
		}
		expect(store.rows).toHaveLength(1)
		expect(warned).toHaveLength(1)
	})
})

describe('a tx without an open transaction', () => {
	const idle = new DatabaseSync(':memory:')
	const outside: [string, Queryable][] = [
		['an idle pg client', client('I')],
		['a pool', pool],
		['a node:sqlite database without BEGIN', idle],
		['PGlite itself', pglite(() => false)],
		['PGlite itself before it is open', pglite(throwing)],
	]

	const takesAll = (mode: 'warn' | 'reject') => {
		const parts = setup(mode)
		parts.store.accepts = () => true
		return parts
	}

	test.each(outside)('is enqueued with a warning: %s', async (_, tx) => {
		const { outbox, warnings, store } = takesAll('warn')
		await outbox.enqueue(message, { tx })
		expect(warnings).toEqual([expect.stringContaining('no open transaction')])
		expect(store.inserts).toEqual([tx])
	})

	test.each(outside)('is rejected before anything is written: %s', async (_, tx) => {
		const { outbox, store } = takesAll('reject')
		await expect(outbox.enqueue(message, { tx })).rejects.toMatchObject({ reason: 'outside-transaction' })
		expect(store.inserts).toEqual([])
	})

	test('asks the database about PGlite without transaction state, because the user may have sent BEGIN', async () => {
		for (const isInTransaction of [true, false]) {
			const { outbox, warnings, store } = setup('reject')
			store.isInTransaction = isInTransaction
			const enqueued = outbox.enqueue(message, { tx: pglite() })
			if (isInTransaction) await enqueued
			else await expect(enqueued).rejects.toMatchObject({ reason: 'outside-transaction' })
			expect(warnings).toEqual([])
			expect(store.rows).toHaveLength(isInTransaction ? 1 : 0)
		}
	})

	test('warns when only the database knew', async () => {
		const { outbox, warnings, store } = setup()
		store.isInTransaction = false
		await outbox.enqueue(message, { tx: { query } })
		await outbox.enqueue(message, { tx: { query } })
		expect(warnings).toEqual([expect.stringContaining('a tx that has no open transaction')])
	})

	test('is rejected in mode reject when only the database knew, and not written', async () => {
		const { outbox, warnings, store } = setup('reject')
		store.isInTransaction = false
		await expect(outbox.enqueue(message, { tx: { query } })).rejects.toMatchObject({
			reason: 'outside-transaction',
		})
		expect(store.rows).toEqual([])
		expect(warnings).toEqual([])
	})

	test('is rejected if it is a SQLite client that hides its state', async () => {
		const store = sqliteOutboxStore(':memory:')
		const outbox = new Outbox({ store, outsideTransaction: 'reject' })
		await outbox.migrate()
		const tx = { prepare: (sql: string) => store.database.prepare(sql) }
		for (const given of [message, [message, message]])
			await expect(outbox.enqueue(given, { tx })).rejects.toMatchObject({ reason: 'outside-transaction' })
		expect(await outbox.list()).toEqual([])
		store.database.exec('BEGIN')
		await outbox.enqueue([message, message], { tx })
		await outbox.enqueue(message, { tx })
		store.database.exec('COMMIT')
		expect(await outbox.list()).toHaveLength(3)
		await outbox.close()
	})
})

describe('a tx with an open transaction', () => {
	test.each([
		['a pg client', client('T')],
		['a pg client with a failed transaction, which PostgreSQL reports itself', client('E')],
		['a pg client whose BEGIN is in flight', client('I', { readyForQuery: false })],
		['a client without transaction state', { query }],
		['PGlite itself after a BEGIN query', pglite(() => true)],
		['a PGlite transaction', { query, listen: () => {}, rollback: () => {} }],
	])('is accepted without a warning: %s', async (_, tx) => {
		for (const mode of ['warn', 'reject'] as const) {
			const { outbox, warnings, store } = setup(mode)
			await outbox.enqueue(message, { tx })
			expect(warnings).toEqual([])
			expect(store.inserts).toEqual([tx])
		}
	})

	test('is recognized if it is a database of node:sqlite', async () => {
		using db = new DatabaseSync(':memory:')
		const { outbox, warnings, store } = setup('reject')
		store.accepts = isSqliteClient
		db.exec('BEGIN')
		await outbox.enqueue(message, { tx: db })
		expect(warnings).toEqual([])
		db.exec('ROLLBACK')
	})
})

describe('enqueue', () => {
	test('rejects a tx of another database', async () => {
		using db = new DatabaseSync(':memory:')
		const { outbox, store } = setup()
		await expect(outbox.enqueue(message, { tx: db })).rejects.toMatchObject({
			reason: 'wrong-database',
			message: expect.stringMatching(/store postgres: expected an object with query.*, got a DatabaseSync$/),
		})
		const sqlite = fakeStore({ kind: 'sqlite' })
		sqlite.accepts = isSqliteClient
		await expect(new Outbox({ store: sqlite }).enqueue(message, { tx: { query } })).rejects.toMatchObject({
			reason: 'wrong-database',
			message: expect.stringMatching(/store sqlite: expected an object with prepare.*, got an object$/),
		})
		expect(store.inserts).toEqual([])
	})

	test.each([[null], [7], ['BEGIN']])('rejects %s as tx', async (tx) => {
		const { outbox } = setup()
		const options = { tx } as unknown as EnqueueOptions
		await expect(outbox.enqueue(message, options)).rejects.toMatchObject({ reason: 'wrong-database' })
	})

	test('rejects a client instead of the options', async () => {
		const { outbox } = setup()
		await expect(outbox.enqueue(message, client('T') as EnqueueOptions)).rejects.toMatchObject({
			code: 'YAOKI_INVALID_OPTION',
			optionPath: 'options',
		})
	})

	test('rejects an unknown option, which would silently leave the transaction out', async () => {
		const { outbox } = setup()
		const options = { transaction: client('T') } as EnqueueOptions
		await expect(outbox.enqueue(message, options)).rejects.toMatchObject({
			code: 'YAOKI_INVALID_OPTION',
			optionPath: 'transaction',
		})
		await expect(outbox.enqueue(message, null as unknown as EnqueueOptions)).rejects.toMatchObject({
			code: 'YAOKI_INVALID_OPTION',
			optionPath: 'options',
		})
	})
})
