import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import * as postgres from '../../src/sql/postgres-errors.ts'
import * as sqlite from '../../src/sql/sqlite-errors.ts'
import { temporaryFile } from '../support/temporary-file.ts'

describe('an error of PostgreSQL', () => {
	const error = (code: unknown) => Object.assign(new Error('failed'), { code })

	test.each([
		[postgres.isMissingTable, ['42P01', '3F000']],
		[postgres.isMissingObject, ['42P01', '3F000', '42703']],
		[postgres.isDataError, ['22021', '23505', '54000']],
		[postgres.isCancelledStatement, ['57014']],
		[postgres.isSerializationFailure, ['40001', '40P01']],
		[postgres.isLostStatement, ['26000', '42P05']],
	])('is recognized by its SQLSTATE: %o', (check, codes) => {
		for (const code of codes) expect(check(error(code)), code).toBe(true)
		expect(check(error('08006'))).toBe(false)
	})

	test('has no SQLSTATE if the server did not respond with it', () => {
		for (const reason of [error('ECONNREFUSED'), error(42_703), undefined, null, 'text', {}])
			expect(postgres.sqlState(reason)).toBe('')
	})

	test('has a hint if something can be done about it', () => {
		expect(postgres.postgresHint(error('53100'))).toContain('disk')
		expect(postgres.postgresHint(error('25006'))).toContain('primary')
		expect(postgres.postgresHint(error('23505'))).toBeUndefined()
	})
})

/** Returns what `run` throws. */
const errorOf = (run: () => unknown): unknown => {
	try {
		run()
	} catch (error) {
		return error
	}
	throw new Error('expected an error')
}

describe('an error of SQLite', () => {
	function setup() {
		const file = temporaryFile()
		const open = () => {
			const database = new DatabaseSync(file, { timeout: 0 })
			onTestFinished(() => database.close())
			return database
		}
		const [one, other] = [open(), open()]
		one.exec('PRAGMA journal_mode = WAL; CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT')
		return { one, other }
	}

	test('is busy while another connection writes, and in a transaction on the own connection', () => {
		const { one, other } = setup()
		other.exec('BEGIN IMMEDIATE')
		const error = errorOf(() => one.exec('BEGIN IMMEDIATE'))
		expect(sqlite.isBusy(error)).toBe(true)
		expect(sqlite.isStaleSnapshot(error)).toBe(false)
		expect(sqlite.sqliteHint(error)).toContain('holds a write transaction open')
		expect(sqlite.isBusy(errorOf(() => other.exec('BEGIN')))).toBe(true)
	})

	test('is a stale snapshot if the transaction has read before another connection wrote', () => {
		const { one, other } = setup()
		one.exec('BEGIN')
		one.prepare('SELECT * FROM t').all()
		other.exec('INSERT INTO t VALUES (1)')
		const error = errorOf(() => one.exec('INSERT INTO t VALUES (2)'))
		expect(sqlite.isStaleSnapshot(error)).toBe(true)
		expect(sqlite.isBusy(error)).toBe(true)
	})

	test('is about one row if its values cannot be written', () => {
		const { one } = setup()
		one.exec('INSERT INTO t VALUES (1)')
		expect(sqlite.isBadRow(errorOf(() => one.exec('INSERT INTO t VALUES (1)')))).toBe(true)
		expect(sqlite.isBadRow(errorOf(() => one.exec("INSERT INTO t VALUES ('x')")))).toBe(true)
		expect(sqlite.isBadRow(errorOf(() => one.exec('INSERT INTO u VALUES (1)')))).toBe(false)
	})

	test('is a schema mismatch if a table, a column or an index is missing', () => {
		const { one } = setup()
		for (const sql of [
			'SELECT * FROM u',
			'SELECT x FROM t',
			'INSERT INTO t (x) VALUES (1)',
			'SELECT * FROM t INDEXED BY i',
		])
			expect(sqlite.isSchemaMismatch(errorOf(() => one.prepare(sql))), sql).toBe(true)
		expect(sqlite.isSchemaMismatch(errorOf(() => one.prepare('SELEC')))).toBe(false)
	})

	test.each([
		['SQLITE_BUSY', 'holds a write transaction open'],
		['SQLITE_BUSY_SNAPSHOT', 'holds a write transaction open'],
		['SQLITE_READONLY_DIRECTORY', 'must be writable'],
		['SQLITE_IOERR_WRITE', 'file system failed'],
		['SQLITE_CORRUPT', 'integrity_check'],
		['SQLITE_FULL', 'disk is full'],
		['SQLITE_CANTOPEN', 'folder of the file'],
		['SQLITE_NOTADB', 'not an SQLite database'],
	])('of better-sqlite3 with the code %s has the hint of node:sqlite', (code, hint) => {
		expect(sqlite.sqliteHint(Object.assign(new Error('failed'), { code }))).toContain(hint)
	})

	test('of something else has no hint', () => {
		for (const reason of [
			new Error('no'),
			{ errcode: 0 },
			{ errcode: 255 },
			{ code: 'ENOENT' },
			null,
			'text',
		])
			expect(sqlite.sqliteHint(reason)).toBeUndefined()
	})
})

test('work waits for a busy database for ten seconds and at least fifty tries', () => {
	expect(sqlite.mayWaitForBusy(1_000, 9_999)).toBe(true)
	expect(sqlite.mayWaitForBusy(50, 10_000)).toBe(false)
	expect(sqlite.mayWaitForBusy(49, 60_000)).toBe(true)
})

test('pauses grow up to 50 ms, with jitter of half of it', () => {
	expect([0, 1, 2].map((pauses) => sqlite.busyPauseMs(pauses, 0.5))).toEqual([1, 1.5, 2.25])
	expect([0, 1].map((random) => sqlite.busyPauseMs(100, random))).toEqual([25, 75])
})
