/** SQLite stores with a clock that only the test moves. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import type { StoreUnderTest } from '../../../src/outbox/testing/index.ts'

const START = Date.UTC(2026, 0, 1)

const transactionOn =
	(database: () => DatabaseSync): StoreUnderTest['transaction'] =>
	async (work, end, isolationLevel) => {
		const tx = database()
		tx.exec(isolationLevel ? 'BEGIN' : 'BEGIN IMMEDIATE')
		// The first read takes the snapshot.
		if (isolationLevel) tx.exec('SELECT count(*) FROM sqlite_schema')
		try {
			const result = await work(tx)
			tx.exec(end)
			return result
		} catch (error) {
			tx.exec('rollback')
			throw error
		}
	}

/** In memory: the store's own connection is the only one. */
export async function openSqliteMemory(): Promise<StoreUnderTest> {
	let now = START
	const store = sqliteStore({ file: ':memory:', clock: () => now })
	return {
		store,
		advance: (ms) => {
			now += ms
		},
		transaction: transactionOn(() => store.database),
		close: () => store.close(),
	}
}

/** In a file that the user and other stores are connected to as well. */
export async function openSqliteFile(): Promise<StoreUnderTest> {
	let now = START
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-conformance-'))
	const file = join(folder, 'outbox.db')
	const clock = (): number => now
	const store = sqliteStore({ file, clock })
	let user: DatabaseSync | undefined
	return {
		store,
		advance: (ms) => {
			now += ms
		},
		transaction: transactionOn(() => {
			user ??= new DatabaseSync(file)
			return user
		}),
		isolationLevels: ['serializable'],
		another: async () => sqliteStore({ file, clock }),
		close: async () => {
			await store.close()
			user?.close()
			rmSync(folder, { recursive: true, force: true })
		},
	}
}
