import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { EnqueueOptions } from '../../../src/outbox/enqueue/transaction-rule.ts'
import { Outbox } from '../../../src/outbox/outbox.ts'
import { isSqliteClient, type Queryable } from '../../../src/outbox/store/queryable.ts'
import { fakeStore } from '../fake-store.ts'

const message = { topic: 'a', payload: 1 }
const query = () => Promise.resolve({ rows: [] })
const client = (status: string, more: object = {}) => ({ query, getTransactionStatus: () => status, ...more })
const pool = { query, connect: () => Promise.resolve(client('I')), totalCount: 1 }

const throwing = () => {
	throw new TypeError("Cannot read properties of undefined (reading '_IsTransactionBlock')")
}
const pglite = (isInTransaction?: () => boolean) => ({
	...{ query, transaction: () => {}, listen: () => {} },
	...(isInTransaction && { isInTransaction }),
})

function open(outsideTransaction?: 'warn' | 'allow' | 'refuse') {
	const store = fakeStore()
	const warnings: string[] = []
	const outbox = new Outbox({ store, outsideTransaction, onWarning: (text) => warnings.push(text) })
	return { store, warnings, outbox }
}

describe('a message outside of a transaction', () => {
	test('is enqueued with a warning that says what the danger is, and how to do it right', async () => {
		const { outbox, warnings, store } = open()
		await outbox.enqueue(message)
		expect(store.rows).toHaveLength(1)
		expect(warnings).toEqual([
			expect.stringMatching(
				/outside of a transaction.*if the process dies in between.*client\.query\('BEGIN'\).*\{ tx: client \}.*\{ withoutTransaction: true \}/,
			),
		])
	})

	test('is told of with an example that waits for relays on SQLite; with a mere BEGIN the database was soon locked', async () => {
		const warnings: string[] = []
		const store = fakeStore({ kind: 'sqlite' })
		await new Outbox({ store, onWarning: (text) => warnings.push(text) }).enqueue(message)
		expect(warnings[0]).toMatch(/new DatabaseSync\(file, \{ timeout: 5_000 \}\).*'BEGIN IMMEDIATE'/)
	})

	test('is warned of once, however many follow', async () => {
		const { outbox, warnings } = open()
		for (let i = 0; i < 3; i++) await outbox.enqueue(message)
		await outbox.enqueue(message, { tx: pool })
		expect(warnings).toHaveLength(1)
	})

	test('is nothing to warn of when it is meant', async () => {
		const { outbox, warnings, store } = open()
		store.isInTransaction = false
		await outbox.enqueue(message, { withoutTransaction: true })
		await outbox.enqueue(message, { withoutTransaction: true, tx: client('I') })
		expect(warnings).toEqual([])
	})

	test('is fine where it is allowed', async () => {
		const { outbox, warnings, store } = open('allow')
		store.isInTransaction = false
		await outbox.enqueue(message)
		await outbox.enqueue(message, { tx: pool })
		expect(warnings).toEqual([])
		expect(store.rows).toHaveLength(2)
	})

	test('is refused where that is asked for, and not written', async () => {
		const { outbox, store } = open('refuse')
		await expect(outbox.enqueue(message)).rejects.toMatchObject({
			name: 'TransactionError',
			code: 'YAOKI_OUTBOX_TRANSACTION',
			message: expect.stringContaining('if the process dies in between'),
		})
		expect(store.rows).toEqual([])
		await outbox.enqueue(message, { withoutTransaction: true })
		expect(store.rows).toHaveLength(1)
	})

	test('is warned of on the console by default', async () => {
		const said: unknown[] = []
		const { warn } = console
		console.warn = (text: unknown) => said.push(text)
		try {
			await new Outbox({ store: fakeStore() }).enqueue(message)
		} finally {
			console.warn = warn
		}
		expect(said).toEqual([expect.stringContaining('outside of a transaction')])
	})

	test('is written although the warning itself fails', async () => {
		const store = fakeStore()
		const said: unknown[] = []
		const { warn } = console
		console.warn = (...texts: unknown[]) => said.push(texts)
		const onWarning = () => {
			throw new Error('no log')
		}
		try {
			await new Outbox({ store, onWarning }).enqueue(message)
		} finally {
			console.warn = warn
		}
		expect(store.rows).toHaveLength(1)
		expect(said).toHaveLength(1)
	})
})

describe('a tx that is in no transaction', () => {
	const idle = new DatabaseSync(':memory:')
	const outside: [string, Queryable][] = [
		['a pg client that is idle', client('I')],
		['a pool, each query of which may go to another connection', pool],
		['a database of node:sqlite without BEGIN', idle],
		['PGlite itself, which was neither warned of nor refused', pglite(() => false)],
		['PGlite itself, when it is not open yet', pglite(throwing)],
	]

	const takesAll = (mode: 'warn' | 'refuse') => {
		const parts = open(mode)
		parts.store.accepts = () => true
		return parts
	}

	test.each(outside)('is warned of: %s', async (_, tx) => {
		const { outbox, warnings, store } = takesAll('warn')
		await outbox.enqueue(message, { tx })
		expect(warnings).toEqual([expect.stringContaining('in no transaction')])
		expect(store.inserts).toEqual([tx])
	})

	test.each(outside)('is refused before anything is written: %s', async (_, tx) => {
		const { outbox, store } = takesAll('refuse')
		await expect(outbox.enqueue(message, { tx })).rejects.toThrow('in no transaction')
		expect(store.inserts).toEqual([])
	})

	test('is likely with a PGlite that can not tell, which is warned of and not refused: there may be a BEGIN by hand', async () => {
		for (const mode of ['warn', 'refuse'] as const) {
			const { outbox, warnings, store } = open(mode)
			await outbox.enqueue(message, { tx: pglite() })
			expect(warnings).toEqual([expect.stringContaining('most likely is in no transaction')])
			expect(store.rows).toHaveLength(1)
		}
	})

	test('is warned of when only the database could tell', async () => {
		const { outbox, warnings, store } = open()
		store.isInTransaction = false
		await outbox.enqueue(message, { tx: { query } })
		await outbox.enqueue(message, { tx: { query } })
		expect(warnings).toEqual([expect.stringContaining('a tx that is in no transaction')])
	})

	test('that only the database could tell of is warned of even where it should be refused, for it is written', async () => {
		const { outbox, warnings, store } = open('refuse')
		store.isInTransaction = false
		await outbox.enqueue(message, { tx: { query } })
		expect(warnings).toHaveLength(1)
	})
})

describe('a tx that is in a transaction', () => {
	test.each([
		['a pg client', client('T')],
		['a pg client whose transaction has failed, which PostgreSQL itself will tell', client('E')],
		['a pg client whose BEGIN is on its way', client('I', { readyForQuery: false })],
		['a client that can not tell', { query }],
		['PGlite itself after a BEGIN by hand', pglite(() => true)],
		['a transaction of PGlite', { query, listen: () => {}, rollback: () => {} }],
	])('is neither warned of nor refused: %s', async (_, tx) => {
		for (const mode of ['warn', 'refuse'] as const) {
			const { outbox, warnings, store } = open(mode)
			await outbox.enqueue(message, { tx })
			expect(warnings).toEqual([])
			expect(store.inserts).toEqual([tx])
		}
	})

	test('of node:sqlite is recognised', async () => {
		using db = new DatabaseSync(':memory:')
		const { outbox, warnings, store } = open('refuse')
		store.accepts = isSqliteClient
		db.exec('BEGIN')
		await outbox.enqueue(message, { tx: db })
		expect(warnings).toEqual([])
		db.exec('ROLLBACK')
	})
})

describe('a wrong tx is told', () => {
	test('one of another database', async () => {
		using db = new DatabaseSync(':memory:')
		const { outbox, store } = open()
		await expect(outbox.enqueue(message, { tx: db })).rejects.toThrow(
			"tx: got a DatabaseSync, and the outbox's store is postgres; takes what has query(text, values)",
		)
		const sqlite = fakeStore({ kind: 'sqlite' })
		sqlite.accepts = isSqliteClient
		await expect(new Outbox({ store: sqlite }).enqueue(message, { tx: { query } })).rejects.toThrow(
			"tx: got an object, and the outbox's store is sqlite; takes what has prepare(sql)",
		)
		expect(store.inserts).toEqual([])
	})

	test.each([[null], [7], ['BEGIN']])('%s', async (tx) => {
		const { outbox } = open()
		const options = { tx } as unknown as EnqueueOptions
		await expect(outbox.enqueue(message, options)).rejects.toThrow(/^tx: got/)
	})

	test('a client in the place of the options', async () => {
		const { outbox } = open()
		await expect(outbox.enqueue(message, client('T') as EnqueueOptions)).rejects.toThrow(
			'hand it over as { tx }',
		)
	})

	test('a misspelt option, which would be a message without its transaction', async () => {
		const { outbox } = open()
		const options = { transaction: client('T') } as EnqueueOptions
		await expect(outbox.enqueue(message, options)).rejects.toThrow(
			"there is no option 'transaction'; takes { tx,",
		)
		await expect(outbox.enqueue(message, null as unknown as EnqueueOptions)).rejects.toThrow(
			'got null; takes',
		)
	})
})
