import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { SqliteDatabase } from '../../src/sql/clients.ts'
import { runOn, userBusyHint } from '../../src/sql/sqlite-client.ts'
import { SqliteConnection } from '../../src/sql/sqlite-connection.ts'
import { temporaryFile } from '../support/temporary-file.ts'

function setup() {
	const opened: DatabaseSync[] = []
	const file = temporaryFile()
	const connection = new SqliteConnection(
		() => {
			const database = new DatabaseSync(file)
			opened.push(database)
			return database
		},
		() => 1_234.9,
	)
	onTestFinished(() => connection.close())
	return { file, connection, opened }
}

describe('the connection of a store', () => {
	test('opens the database at its first use, once', () => {
		const { connection, opened } = setup()
		expect([connection.isOpen, opened.length]).toEqual([false, 0])
		connection.exec('CREATE TABLE t (n INTEGER)')
		connection.run('INSERT INTO t VALUES (1)')
		expect([connection.isOpen, opened.length]).toEqual([true, 1])
	})

	test('never waits by itself, writes a log, and survives a power failure', () => {
		const { connection } = setup()
		const setting = (name: string) => connection.row(`PRAGMA ${name}`)?.[0]
		expect(['busy_timeout', 'journal_mode', 'synchronous'].map(setting)).toEqual([0, 'wal', 2])
	})

	test('closes the database if its settings fail, and can open it again', () => {
		const databases: { readonly close: () => void }[] = []
		let isBroken = true
		const connection = new SqliteConnection(
			() => {
				const database = new DatabaseSync(':memory:')
				const close = vi.spyOn(database, 'close')
				databases.push({ close })
				if (isBroken)
					vi.spyOn(database, 'exec').mockImplementationOnce(() => {
						throw new Error('disk I/O error')
					})
				return database as unknown as SqliteDatabase
			},
			() => 0,
		)
		onTestFinished(() => connection.close())
		expect(() => connection.database).toThrow('disk I/O error')
		expect(databases[0]?.close).toHaveBeenCalledOnce()
		isBroken = false
		expect(connection.number('SELECT 5')).toBe(5)
	})

	test('does not open again after it was closed', () => {
		const { connection } = setup()
		connection.number('SELECT 1')
		connection.close()
		expect(connection.isOpen).toBe(false)
		expect(() => connection.number('SELECT 1')).toThrow('The store is closed')
	})

	test('returns rows as arrays, the first value as a number, and the number of changed rows', () => {
		const { connection } = setup()
		connection.exec('CREATE TABLE t (n INTEGER, name TEXT)')
		expect(connection.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')")).toBe(2)
		expect(connection.rows('SELECT n, name FROM t WHERE n > ?', 0)).toEqual([
			[1, 'a'],
			[2, 'b'],
		])
		expect(connection.row('SELECT n FROM t WHERE n > ?', 5)).toBeUndefined()
		expect(connection.number('SELECT n FROM t WHERE n > ?', 5)).toBe(0)
		expect(connection.now()).toBe(1_234)
	})

	test('prepares each text once', () => {
		const { connection, opened } = setup()
		connection.number('SELECT 1')
		const [database] = opened
		if (!database) throw new Error('the database is not open')
		const prepare = vi.spyOn(database, 'prepare')
		for (let n = 0; n < 3; n++) connection.number('SELECT ?', n)
		expect(prepare).toHaveBeenCalledOnce()
	})
})

describe('statements on the connection of a user', () => {
	test('are prepared once per connection, and again after it was closed and opened', () => {
		const database = new DatabaseSync(temporaryFile())
		onTestFinished(() => database.close())
		database.exec('CREATE TABLE t (n INTEGER)')
		const prepare = vi.spyOn(database, 'prepare')
		for (let n = 0; n < 3; n++) runOn(database)('INSERT INTO t VALUES (?1)', n)
		expect(prepare).toHaveBeenCalledOnce()
		database.close()
		database.open()
		runOn(database)('INSERT INTO t VALUES (?1)', 3)
		expect(prepare).toHaveBeenCalledTimes(2)
		expect(runOn(database)('SELECT count(*) AS count FROM t')).toEqual([{ count: 4 }])
	})

	test('that find the database busy have a hint about how to begin the transaction', () => {
		const { file, connection } = setup()
		connection.exec('CREATE TABLE t (n INTEGER)')
		const [reader, writer] = [new DatabaseSync(file, { timeout: 0 }), new DatabaseSync(file, { timeout: 0 })]
		onTestFinished(() => {
			reader.close()
			writer.close()
		})
		const hintOf = (run: () => unknown): string => {
			try {
				run()
			} catch (error) {
				return userBusyHint(error)
			}
			throw new Error('expected an error')
		}
		reader.exec('BEGIN')
		runOn(reader)('SELECT * FROM t')
		runOn(writer)('INSERT INTO t VALUES (1)')
		expect(hintOf(() => runOn(reader)('INSERT INTO t VALUES (2)'))).toMatch(
			/read before another connection wrote/,
		)
		reader.exec('ROLLBACK')
		writer.exec('BEGIN IMMEDIATE')
		expect(hintOf(() => runOn(reader)('INSERT INTO t VALUES (2)'))).toMatch(/Another connection.*is writing/)
	})
})
