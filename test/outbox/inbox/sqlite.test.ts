import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Inbox, sqliteInboxStore } from 'yaoki/outbox'
import { virtualRuntime } from 'yaoki/testing'
import { systemRuntime } from '../../../src/core/runtime/system.ts'
import { BETTER_DRIVERS } from '../enqueue/better-sqlite.ts'
import { openSqlite } from './sqlite.ts'
import { inboxSuite, openInbox, receive } from './suite.ts'

describe('node:sqlite', () => inboxSuite(() => openSqlite()))
describe.each(BETTER_DRIVERS)('%s', (_, open) => inboxSuite(() => openSqlite(open)))

async function openFile() {
	const database = await openSqlite()
	const { inbox, events } = await openInbox(database)
	const db = new DatabaseSync(database.file, { timeout: 0 })
	onTestFinished(() => db.close())
	const addEffect = (id: string) => db.prepare('INSERT INTO effects VALUES (?)').run(id)
	return { database, inbox, events, db, addEffect }
}

describe('onceSync', () => {
	test('marks and runs within the call, so that a COMMIT right after it has both', async () => {
		const { database, inbox, events, db, addEffect } = await openFile()
		const deliver = () => {
			db.exec('BEGIN IMMEDIATE')
			const result = inbox.onceSync('a', { tx: db }, () => addEffect('a').changes)
			db.exec('COMMIT')
			return result
		}
		expect(deliver()).toEqual({ isDuplicate: false, value: 1 })
		expect(deliver()).toEqual({ isDuplicate: true })
		expect(await database.effects()).toEqual(['a'])
		expect(events.map(({ type }) => type)).toEqual(['inbox_processed', 'inbox_duplicate'])
	})

	test.each(BETTER_DRIVERS)('works in db.transaction of %s', async (_, open) => {
		const database = await openSqlite(open)
		const { inbox } = await openInbox(database)
		const db = open(database.file, { timeout: 0 })
		onTestFinished(() => {
			db.close()
		})
		const deliver = db.transaction(() =>
			inbox.onceSync('a', { tx: db }, () => {
				db.prepare("INSERT INTO effects VALUES ('a')").run()
			}),
		)
		expect(deliver.immediate()).toMatchObject({ isDuplicate: false })
		expect(deliver.immediate()).toEqual({ isDuplicate: true })
		expect(await database.effects()).toEqual(['a'])
	})

	test('a function that throws leaves no mark in a transaction that is committed', async () => {
		const { inbox, db } = await openFile()
		db.exec('BEGIN IMMEDIATE')
		const failing = () => {
			throw new Error('no stock')
		}
		expect(() => inbox.onceSync('a', { tx: db }, failing)).toThrow('no stock')
		db.exec('COMMIT')
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('a function that returns a promise is an error and leaves no mark', async () => {
		const { inbox, db } = await openFile()
		db.exec('BEGIN IMMEDIATE')
		expect(() => inbox.onceSync('a', { tx: db }, async () => {})).toThrow(
			expect.objectContaining({ code: 'YAOKI_INVALID_ARGUMENT', argument: 'fn' }),
		)
		db.exec('COMMIT')
		expect(await inbox.find('a')).toBeUndefined()
	})

	test('a function that ends the transaction, and a connection without one, are errors', async () => {
		const { inbox, db } = await openFile()
		expect(() => inbox.onceSync('a', { tx: db }, () => {})).toThrow(
			expect.objectContaining({ reason: 'outside-transaction' }),
		)
		db.exec('BEGIN IMMEDIATE')
		expect(() => inbox.onceSync('a', { tx: db }, () => db.exec('COMMIT'))).toThrow(
			expect.objectContaining({ reason: 'ended' }),
		)
	})

	test('a message twice in one turn is a duplicate', async () => {
		const { database, inbox, db, addEffect } = await openFile()
		db.exec('BEGIN IMMEDIATE')
		const results = ['a', 'b', 'a'].map(
			(id) => inbox.onceSync(id, { tx: db }, () => addEffect(id)).isDuplicate,
		)
		db.exec('COMMIT')
		expect(results).toEqual([false, false, true])
		expect(await database.effects()).toEqual(['a', 'b'])
	})
})

test('a message of another caller whose transaction is open on the same connection is a conflict (regression: it was acked as a duplicate, and then rolled back)', async () => {
	const { database, inbox, db, addEffect } = await openFile()
	vi.spyOn(console, 'warn').mockImplementation(() => {})
	onTestFinished(() => {
		vi.restoreAllMocks()
	})
	db.exec('BEGIN IMMEDIATE')
	await inbox.once('a', { tx: db }, () => addEffect('a'))
	await expect(inbox.once('a', { tx: db }, () => addEffect('a'))).rejects.toMatchObject({
		code: 'YAOKI_INBOX_CONFLICT',
	})
	db.exec('ROLLBACK')
	expect(await receive(database, inbox, 'a')).toMatchObject({ isDuplicate: false })
	expect(await database.effects()).toEqual(['a'])
})

test('warns once of a transaction that was open in an earlier turn', async () => {
	const { inbox, db } = await openFile()
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
	onTestFinished(() => {
		vi.restoreAllMocks()
	})
	db.exec('BEGIN IMMEDIATE')
	for (const id of ['a', 'b', 'c', 'd']) await inbox.once(id, { tx: db }, () => {})
	db.exec('COMMIT')
	expect(warn.mock.calls).toEqual([[expect.stringContaining('open in an earlier turn')]])
})

test('the function runs in the turn of the call, so that nothing comes between it and the mark', async () => {
	const { database, inbox, db, addEffect } = await openFile()
	db.exec('BEGIN IMMEDIATE')
	const processing = inbox.once('a', { tx: db }, () => addEffect('a'))
	db.exec('COMMIT')
	// The transaction has ended before the call returned, with mark and effect in it.
	await expect(processing).rejects.toMatchObject({ reason: 'ended' })
	expect(await inbox.find('a')).toBeDefined()
	expect(await database.effects()).toEqual(['a'])
})

test('a database that another connection is writing is an error with advice', async () => {
	const { database, inbox, db } = await openFile()
	const other = new DatabaseSync(database.file)
	onTestFinished(() => other.close())
	other.exec('BEGIN IMMEDIATE')
	db.exec('BEGIN')
	await expect(inbox.once('a', { tx: db }, () => {})).rejects.toMatchObject({
		code: 'YAOKI_INBOX_STORE',
		message: expect.stringContaining('BEGIN IMMEDIATE'),
	})
	other.exec('ROLLBACK')
})

test('a tx of another file is an error', async () => {
	const { inbox } = await openFile()
	const other = new DatabaseSync(':memory:')
	onTestFinished(() => other.close())
	other.exec('BEGIN')
	await expect(inbox.once('a', { tx: other }, () => {})).rejects.toMatchObject({
		code: 'YAOKI_INBOX_STORE',
		message: expect.stringContaining('another database'),
	})
})

test('on a read-only connection nothing runs, and the error says why', async () => {
	const { database, inbox } = await openFile()
	const db = new DatabaseSync(database.file, { readOnly: true })
	onTestFinished(() => db.close())
	db.exec('BEGIN')
	await expect(inbox.once('a', { tx: db }, () => {})).rejects.toMatchObject({
		code: 'YAOKI_INBOX_STORE',
		message: expect.stringContaining('must be writable'),
	})
})

test('a client that does not expose its transaction is asked by a BEGIN', async () => {
	const { inbox, db } = await openFile()
	const tx = { prepare: (sql: string) => db.prepare(sql) }
	await expect(inbox.once('a', { tx }, () => {})).rejects.toMatchObject({ reason: 'outside-transaction' })
	db.exec('BEGIN IMMEDIATE')
	expect(await inbox.once('a', { tx }, () => {})).toMatchObject({ isDuplicate: false })
	db.exec('COMMIT')
})

test('marks are kept for longer when the clock of the machine jumps forward', async () => {
	const database = await openSqlite()
	const runtime = virtualRuntime({ seed: 1 })
	let jumpMs = 0
	const jumping = { ...runtime, now: () => runtime.now(), wallNow: () => Date.now() + jumpMs }
	const store = sqliteInboxStore({
		file: database.file,
		runtime: { ...jumping, setTimer: runtime.setTimer.bind(runtime), random: () => 0.5 },
	})
	const inbox = new Inbox({ store, retentionMs: 60_000, senderRetriesForMs: 0, purgeEveryMs: 0 })
	onTestFinished(() => inbox.close())
	await inbox.migrate()
	await receive(database, inbox, 'a')
	await inbox.forget('other')
	jumpMs = 365 * 86_400_000
	await inbox.forget('other')
	expect((await inbox.stats()).expired.count).toBe(0)
})

test.each(['', ':memory:'])('the file %j is invalid: no other connection could open it', (file) => {
	expect(() => sqliteInboxStore(file)).toThrow(expect.objectContaining({ optionPath: 'file' }))
})

test('a new process keeps marks for the whole retention although the clock was set back (regression: they expired early, and a repeated message was processed again)', async () => {
	const database = await openSqlite()
	const open = (wallNow: () => number) => {
		const store = sqliteInboxStore({ file: database.file, runtime: { ...systemRuntime, wallNow } })
		const inbox = new Inbox({ store, retentionMs: 60_000, senderRetriesForMs: 0, purgeEveryMs: 0 })
		onTestFinished(() => inbox.close())
		return { store, inbox }
	}
	const start = Date.now()
	const ahead = open(() => start + 3_600_000)
	await ahead.inbox.migrate()
	await ahead.inbox.forget('other')
	const { store, inbox } = open(() => start)
	await receive(database, inbox, 'a')
	expect(await store.purge(10)).toBe(0)
	expect(await receive(database, inbox, 'a')).toEqual({ isDuplicate: true })
})
