import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import type { SqliteClient } from '../../../../src/sql/clients.ts'
import { temporaryFile } from '../../../support/temporary-file.ts'
import { newRow, newRows } from '../rows.ts'
import { migratedStore } from './rows.ts'

async function setup(): Promise<{ store: SqliteOutboxStore; user: DatabaseSync; file: string }> {
	const file = temporaryFile()
	const store = await migratedStore(file)
	const user = new DatabaseSync(file)
	onTestFinished(() => {
		if (user.isOpen) user.close()
		return store.close()
	})
	return { store, user, file }
}

const OPERATOR = { by: 'ada@ops', reason: null }

const idsIn = async (store: SqliteOutboxStore): Promise<string[]> =>
	(await store.list({}, 100)).map(({ id }) => id)

describe("insert in the user's transaction", () => {
	it('is complete when the call returns, so a commit right after it includes the message', async () => {
		const { store, user } = await setup()
		user.exec('BEGIN')
		const row = newRow()
		const inserted = store.insert([row], user)
		user.exec('COMMIT')
		expect(await inserted).toMatchObject({ isInTransaction: true })
		expect(await idsIn(store)).toEqual([row.id])
	})

	it('is rolled back with the transaction', async () => {
		const { store, user } = await setup()
		user.exec('BEGIN')
		await store.insert(newRows(3), user)
		user.exec('ROLLBACK')
		expect(await idsIn(store)).toEqual([])
	})

	it('inserts all rows or none, even if the user commits after the error', async () => {
		const { store, user } = await setup()
		const kept = newRow()
		const twice = newRow()
		user.exec('BEGIN')
		await store.insert([kept], user)
		await expect(store.insert([twice, newRow(), twice], user)).rejects.toThrow('UNIQUE')
		user.exec('COMMIT')
		expect(await idsIn(store)).toEqual([kept.id])
	})

	it('reports whether a transaction is open, undefined on Node versions that do not expose it', async () => {
		const { store, user } = await setup()
		expect(await store.insert([newRow()], user)).toMatchObject({ isInTransaction: false })
		expect(await store.insert(newRows(2), user)).toMatchObject({ isInTransaction: false })
		const older: SqliteClient = { prepare: (sql) => user.prepare(sql) }
		expect((await store.insert([newRow()], older)).isInTransaction).toBeUndefined()
		expect(await idsIn(store)).toHaveLength(4)
	})

	it('works on a connection that was closed and reopened', async () => {
		const { store, user } = await setup()
		await store.insert([newRow()], user)
		user.close()
		user.open()
		await store.insert([newRow()], user)
		expect(await idsIn(store)).toHaveLength(2)
	})

	it('rejects a tx that is not an SQLite connection', async () => {
		const { store } = await setup()
		const pg = { query: async () => ({ rows: [] }) }
		expect(store.accepts(pg)).toBe(false)
		await expect(store.insert([newRow()], pg)).rejects.toThrow('tx is not an SQLite connection')
	})
})

it('the view shows messages of all tables with the documented columns', async () => {
	const { store, user } = await setup()
	await store.insert([newRow({ key: 'k', headers: '{"a":"b"}' })])
	const columns = 'topic, key, headers, status, attempts, last_error, locked_by'
	expect(user.prepare(`SELECT ${columns} FROM yaoki_outbox_messages`).all()).toEqual([
		{
			topic: 'order.created',
			key: 'k',
			headers: '{"a":"b"}',
			status: 'pending',
			attempts: 0,
			last_error: null,
			locked_by: null,
		},
	])
	const times = user
		.prepare('SELECT created_at, next_retry_at, last_attempt_at FROM yaoki_outbox_messages')
		.get()
	expect(times).toEqual({
		created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
		next_retry_at: times?.['created_at'],
		last_attempt_at: null,
	})
})

describe('a database file', () => {
	it('has WAL and synchronous FULL when the store creates it', async () => {
		const { store } = await setup()
		expect(store.database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
		expect(store.database.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
	})
})

it('dead-letter calls with another status match nothing', async () => {
	const { store } = await setup()
	await store.insert([newRow()])
	const filter = { status: 'pending' } as const
	expect(await store.deadGroups(filter, 10)).toEqual([])
	expect(await store.countDead(filter, 10)).toEqual({ count: 0, isCapped: false })
	expect(await store.replay(filter, 10, OPERATOR)).toEqual([])
	expect(await store.discard(filter, 10, OPERATOR, false)).toEqual([])
	expect(await store.retryNow({ status: 'dead' }, 10)).toEqual([])
	expect(await idsIn(store)).toHaveLength(1)
})
