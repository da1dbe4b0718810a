/** SQLite stores with a clock that only the test moves. */
import { DatabaseSync } from 'node:sqlite'
import { sqliteOutboxStore } from '../../../src/outbox/store/sqlite/sqlite-store.ts'
import type { OutboxStoreUnderTest } from '../../../src/outbox/testing/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'
import type { OpenBetter } from '../enqueue/better-sqlite.ts'

const START = Date.UTC(2026, 0, 1)

const transactionOn =
	(database: () => DatabaseSync | ReturnType<OpenBetter>): OutboxStoreUnderTest['transaction'] =>
	async (work, end, isolationLevel) => {
		const tx = database()
		tx.exec(isolationLevel ? 'BEGIN' : 'BEGIN IMMEDIATE')
		// The first read takes the snapshot.
		if (isolationLevel) tx.prepare('SELECT count(*) FROM sqlite_schema').all()
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
export async function openSqliteMemory(): Promise<OutboxStoreUnderTest> {
	let now = START
	const store = sqliteOutboxStore({ file: ':memory:', clock: () => now })
	return {
		store,
		advance: (ms) => {
			now += ms
		},
		transaction: transactionOn(() => store.database),
		close: () => store.close(),
	}
}

/** In a file that the user and other stores are connected to as well, all by the same driver. */
export async function openSqliteFile(open?: OpenBetter): Promise<OutboxStoreUnderTest> {
	let now = START
	const file = temporaryFile()
	const another = async () => sqliteOutboxStore({ file, clock: () => now, open })
	const store = await another()
	const user = open ? open(file) : new DatabaseSync(file)
	return {
		store,
		another,
		advance: (ms) => {
			now += ms
		},
		transaction: transactionOn(() => user),
		isolationLevels: ['serializable'],
		async close() {
			await store.close()
			user.close()
		},
	}
}
