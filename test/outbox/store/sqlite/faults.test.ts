import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sqliteOutboxStore } from '../../../../src/outbox/store/sqlite/sqlite-store.ts'
import { temporaryFile, temporaryFolder } from '../../../support/temporary-file.ts'
import { newRow, newRows } from '../rows.ts'
import { claimRows, migratedStore, sent } from './rows.ts'

describe('a full disk', () => {
	it('rejects with a hint, loses nothing, and works again once there is space', async () => {
		const store = await migratedStore(temporaryFile())
		onTestFinished(() => store.close())
		await store.insert(newRows(20))
		const pages = Number(store.database.prepare('PRAGMA page_count').get()?.['page_count'])
		store.database.exec(`PRAGMA max_page_count = ${pages + 2}`)
		const big = newRow({ payload: JSON.stringify('x'.repeat(100_000)) })
		await expect(store.insert([newRow(), big])).rejects.toMatchObject({
			code: 'YAOKI_OUTBOX_STORE',
			message: expect.stringContaining('The disk is full'),
		})
		// Work that needs no space succeeds, even in the same tick as work that fails.
		const [claimed, rejected] = await Promise.allSettled([
			claimRows(store, { limit: 5 }),
			store.insert([big]),
		])
		expect(claimed).toMatchObject({ status: 'fulfilled' })
		expect(rejected).toMatchObject({ status: 'rejected' })
		expect(await store.list({}, 100)).toHaveLength(20)
		store.database.exec('PRAGMA max_page_count = 1000000')
		await store.insert([big])
		expect(await store.list({}, 100)).toHaveLength(21)
	})

	it("rejects an insert in the user's transaction with a hint", async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		const { database } = store
		const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
		database.exec(`PRAGMA max_page_count = ${pages + 2}`)
		database.exec('BEGIN')
		const big = newRow({ payload: JSON.stringify('x'.repeat(100_000)) })
		await expect(store.insert([newRow(), big], database)).rejects.toThrow('The disk is full')
		if (database.isTransaction) database.exec('COMMIT')
		expect(await store.list({}, 10)).toEqual([])
	})
})

describe('an unusable file', () => {
	const migrating = (file: string) => expect(sqliteOutboxStore(file).migrate()).rejects

	it('rejects with an error that names a missing folder', async () => {
		const file = join(temporaryFolder(), 'no', 'such', 'folder.db')
		await migrating(file).toMatchObject({
			code: 'YAOKI_OUTBOX_STORE',
			message: expect.stringContaining('folder of the file'),
		})
		expect(() => sqliteOutboxStore(file).database).toThrow('folder of the file')
	})

	it('rejects with an error that says that the file is not a database', async () => {
		const file = temporaryFile()
		writeFileSync(file, 'Not a database, '.repeat(500))
		await migrating(file).toThrow('not an SQLite database')
	})

	it('rejects with an error that says that the file is read-only', async () => {
		const file = temporaryFile()
		await (await migratedStore(file)).close()
		const store = sqliteOutboxStore(`file:${file}?mode=ro`)
		onTestFinished(() => store.close())
		await expect(store.insert([newRow()])).rejects.toThrow('must be writable')
	})

	it('is opened again by the next call', async () => {
		const folder = temporaryFolder()
		const file = join(folder, 'outbox.db')
		writeFileSync(file, 'Not a database, '.repeat(500))
		const store = sqliteOutboxStore(file)
		onTestFinished(() => store.close())
		await expect(store.migrate()).rejects.toThrow()
		writeFileSync(file, '')
		expect(await store.migrate()).toMatchObject({ from: 0 })
	})
})

describe('tables of another version', () => {
	const missing = { code: 'YAOKI_OUTBOX_SCHEMA', found: 0 }

	it('rejects every call with OutboxSchemaError if tables are missing', async () => {
		const store = sqliteOutboxStore(':memory:')
		onTestFinished(() => store.close())
		await expect(claimRows(store)).rejects.toMatchObject(missing)
		await expect(store.stats(10)).rejects.toMatchObject(missing)
		await expect(store.insert([newRow()], store.database)).rejects.toMatchObject(missing)
		await expect(store.settle('r', [{ type: 'sent', id: 'x', attempt: 1 }], true)).rejects.toMatchObject(
			missing,
		)
	})

	it('rejects migration and calls if tables are newer', async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		store.database.exec("INSERT INTO yaoki_outbox_schema VALUES (99, 'of the future', 0)")
		await expect(store.migrate()).rejects.toMatchObject({ code: 'YAOKI_OUTBOX_SCHEMA', found: 99 })
		store.database.exec('ALTER TABLE yaoki_outbox RENAME COLUMN payload TO body')
		await expect(claimRows(store)).rejects.toMatchObject({ found: 99 })
	})

	it('names the other database if tx is connected to one', async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		const other = new DatabaseSync(':memory:')
		onTestFinished(() => other.close())
		await expect(store.insert([newRow()], other)).rejects.toThrow('connected to another database')
	})
})

describe('options', () => {
	it('validates its options when the store is created', () => {
		expect(() => sqliteOutboxStore('')).toThrow("a file name or ':memory:'")
		expect(() => sqliteOutboxStore({ file: 7 as unknown as string })).toThrow('a string')
		expect(() => sqliteOutboxStore({ file: 'x', path: 'y' } as { file: string })).toThrow('path')
	})
})

describe('Node 22', () => {
	it('can be used before 22.16, which returns no row arrays', async () => {
		const store = sqliteOutboxStore(':memory:')
		onTestFinished(() => store.close())
		const statements = Object.getPrototypeOf(store.database.prepare('SELECT 1')) as {
			setReturnArrays?: unknown
		}
		const known = statements.setReturnArrays
		statements.setReturnArrays = undefined
		onTestFinished(() => {
			statements.setReturnArrays = known
		})
		await store.migrate()
		await store.insert([newRow({ key: 'k', dedupeKey: 'd' })])
		const twice = newRow({ dedupeKey: 'd' })
		expect((await store.insert([twice])).duplicates.has(twice.id)).toBe(true)
		const claimed = await claimRows(store)
		expect(claimed).toMatchObject([{ key: 'k', attempt: 1, payload: '{"n":1}' }])
		expect(await store.settle('r1', claimed.map(sent), true)).toEqual([])
		expect(await store.list({ status: 'sent' }, 10)).toMatchObject([{ key: 'k', status: 'sent' }])
	})
})
