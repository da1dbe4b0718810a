import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sqliteStore } from '../../../../src/outbox/store/sqlite/index.ts'
import { newRow, newRows } from '../rows.ts'
import { claimRows, migratedStore, sent } from './rows.ts'
import { temporaryFile, temporaryFolder } from './temporary-file.ts'

describe('a full disk', () => {
	it('is told as such, loses nothing, and is forgotten when there is room again', async () => {
		const store = await migratedStore(temporaryFile())
		onTestFinished(() => store.close())
		await store.insert(newRows(20))
		const pages = Number(store.database.prepare('PRAGMA page_count').get()?.['page_count'])
		store.database.exec(`PRAGMA max_page_count = ${pages + 2}`)
		const big = newRow({ payload: JSON.stringify('x'.repeat(100_000)) })
		await expect(store.insert([newRow(), big])).rejects.toMatchObject({
			code: 'YAOKI_OUTBOX_STORE',
			message: expect.stringContaining('make room on the disk'),
		})
		// What makes no table longer goes on, even beside one that fails.
		const [claimed, refused] = await Promise.allSettled([claimRows(store, { limit: 5 }), store.insert([big])])
		expect(claimed).toMatchObject({ status: 'fulfilled' })
		expect(refused).toMatchObject({ status: 'rejected' })
		expect(await store.list({}, 100)).toHaveLength(20)
		store.database.exec('PRAGMA max_page_count = 1000000')
		await store.insert([big])
		expect(await store.list({}, 100)).toHaveLength(21)
	})

	it("leaves the user's transaction as SQLite left it, and says what happened", async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		const { database } = store
		const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
		database.exec(`PRAGMA max_page_count = ${pages + 2}`)
		database.exec('BEGIN')
		const big = newRow({ payload: JSON.stringify('x'.repeat(100_000)) })
		await expect(store.insert([newRow(), big], database)).rejects.toThrow('make room on the disk')
		if (database.isTransaction) database.exec('COMMIT')
		expect(await store.list({}, 10)).toEqual([])
	})
})

describe('a file that can not be used', () => {
	const told = (file: string) => expect(sqliteStore(file).migrate()).rejects

	it('for its folder is missing says so', async () => {
		const file = join(temporaryFolder(), 'no', 'such', 'folder.db')
		await told(file).toMatchObject({
			code: 'YAOKI_OUTBOX_STORE',
			message: expect.stringContaining('folder of the file'),
		})
		expect(() => sqliteStore(file).database).toThrow('folder of the file')
	})

	it('for it is no database says so, and is left as it is', async () => {
		const file = temporaryFile()
		writeFileSync(file, 'Dear diary, '.repeat(500))
		await told(file).toThrow('the file is something else')
	})

	it('for it may only be read says so', async () => {
		const file = temporaryFile()
		await (await migratedStore(file)).close()
		const store = sqliteStore(`file:${file}?mode=ro`)
		onTestFinished(() => store.close())
		await expect(store.insert([newRow()])).rejects.toThrow('must be able to write')
	})

	it('is tried anew by the next call', async () => {
		const folder = temporaryFolder()
		const file = join(folder, 'outbox.db')
		writeFileSync(file, 'Dear diary, '.repeat(500))
		const store = sqliteStore(file)
		onTestFinished(() => store.close())
		await expect(store.migrate()).rejects.toThrow()
		writeFileSync(file, '')
		expect(await store.migrate()).toMatchObject({ from: 0 })
	})
})

describe('tables of another version', () => {
	const missing = { code: 'YAOKI_OUTBOX_SCHEMA', found: 0 }

	it('that are missing are told by every call', async () => {
		const store = sqliteStore(':memory:')
		onTestFinished(() => store.close())
		await expect(claimRows(store)).rejects.toMatchObject(missing)
		await expect(store.stats(10)).rejects.toMatchObject(missing)
		await expect(store.insert([newRow()], store.database)).rejects.toMatchObject(missing)
		await expect(store.settle('r', [{ type: 'sent', id: 'x', attempt: 1 }], true)).rejects.toMatchObject(
			missing,
		)
	})

	it('that are newer are left alone', async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		store.database.exec("INSERT INTO yaoki_outbox_schema VALUES (99, 'of the future', 0)")
		await expect(store.migrate()).rejects.toMatchObject({ code: 'YAOKI_OUTBOX_SCHEMA', found: 99 })
		store.database.exec('ALTER TABLE yaoki_outbox RENAME COLUMN payload TO body')
		await expect(claimRows(store)).rejects.toMatchObject({ found: 99 })
	})

	it('are not to blame when the transaction is of another database', async () => {
		const store = await migratedStore()
		onTestFinished(() => store.close())
		const other = new DatabaseSync(':memory:')
		onTestFinished(() => other.close())
		await expect(store.insert([newRow()], other)).rejects.toThrow('another database than the outbox is in')
	})
})

describe('options', () => {
	it('that can not work are refused when the store is made', () => {
		expect(() => sqliteStore('')).toThrow("takes the name of a file, or ':memory:'")
		expect(() => sqliteStore({ file: 7 as unknown as string })).toThrow('takes a string')
		expect(() => sqliteStore({ file: 'x', path: 'y' } as { file: string })).toThrow('no such option')
	})
})

describe('Node 22', () => {
	it('has no rows as arrays in its first versions, and does without', async () => {
		const store = sqliteStore(':memory:')
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
