import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
	isPGlite,
	isPostgresClient,
	isSqlClient,
	isSqliteClient,
	type Queryable,
} from '../../src/sql/clients.ts'
import { exposesState, serverStatus, transactionState } from '../../src/sql/transaction-state.ts'

const query = async () => ({ rows: [] })
const work = async () => {}

/** Clients by their shape. Each has what the real one has that matters here. */
const CLIENTS = {
	pool: { query, connect: work, on: work, totalCount: 0 },
	client: { query, connect: work, on: work, getTransactionStatus: () => 'I', escapeIdentifier: work },
	nativeClient: { query, connect: work, on: work, escapeIdentifier: work },
	pglite: { query, exec: work, transaction: work, listen: work, isInTransaction: () => false },
	pgliteTransaction: { query, exec: work, rollback: work },
	orm: { query },
	nodeSqlite: { prepare: work, isTransaction: false },
	betterSqlite: { prepare: work, inTransaction: false },
}

type Name = keyof typeof CLIENTS
const namesOf = (test: (client: Queryable) => boolean): string[] =>
	Object.entries(CLIENTS).flatMap(([name, client]) => (test(client as unknown as Queryable) ? [name] : []))

const clientWith = (name: Name, properties: object): Queryable =>
	({ ...CLIENTS[name], ...properties }) as unknown as Queryable

describe('a client', () => {
	test('of PostgreSQL has query, one of SQLite has prepare', () => {
		expect(namesOf(isSqlClient)).toEqual([
			'pool',
			'client',
			'nativeClient',
			'pglite',
			'pgliteTransaction',
			'orm',
		])
		expect(namesOf(isSqliteClient)).toEqual(['nodeSqlite', 'betterSqlite'])
	})

	test('for a store is a pool or a PGlite database, not a single connection or a transaction', () => {
		expect(namesOf(isPostgresClient)).toEqual(['pool', 'pglite'])
		expect(namesOf(isPGlite)).toEqual(['pglite'])
		for (const client of [undefined, null, 'postgres://', {}]) expect(isPostgresClient(client)).toBe(false)
	})

	test('exposes the state of its transaction, unless it wraps another one', () => {
		expect(namesOf(exposesState)).toEqual(['pool', 'client', 'pglite', 'nodeSqlite', 'betterSqlite'])
	})
})

describe('transactionState', () => {
	test.each<[name: Name, properties: object, state: string]>([
		['client', { getTransactionStatus: () => 'T' }, 'open'],
		['client', { getTransactionStatus: () => 'E' }, 'open'],
		['client', { getTransactionStatus: () => 'I', readyForQuery: true }, 'none'],
		// The response to a BEGIN may still be on its way.
		['client', { getTransactionStatus: () => 'I', readyForQuery: false }, 'unknown'],
		['client', { getTransactionStatus: () => null }, 'unknown'],
		['pool', {}, 'none'],
		['pglite', { isInTransaction: () => true }, 'open'],
		['pglite', {}, 'none'],
		['orm', {}, 'unknown'],
		['nodeSqlite', { isTransaction: true }, 'open'],
		['betterSqlite', { inTransaction: true }, 'open'],
		['betterSqlite', {}, 'none'],
	])('of a %s with %o is %s', (name, properties, state) => {
		expect(transactionState(clientWith(name, properties))).toBe(state)
	})

	test('is none for a database that is closed, whose property throws', () => {
		const database = new DatabaseSync(':memory:')
		database.close()
		expect(transactionState(database)).toBe('none')
	})

	test('follows the transaction of node:sqlite', () => {
		const database = new DatabaseSync(':memory:')
		onTestFinished(() => database.close())
		expect(transactionState(database)).toBe('none')
		database.exec('BEGIN')
		expect(transactionState(database)).toBe('open')
	})

	test('reads the latest status of the server only from a client of pg', () => {
		expect(serverStatus(clientWith('client', {}))).toBe('I')
		expect(serverStatus(clientWith('orm', {}))).toBeUndefined()
	})
})
