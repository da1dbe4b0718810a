import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { sqliteInboxStore } from 'yaoki/outbox'
import { temporaryFile } from '../../support/temporary-file.ts'
import type { OpenBetter } from '../enqueue/better-sqlite.ts'
import type { InboxDatabase } from './suite.ts'

export interface SqliteInboxDatabase extends InboxDatabase {
	readonly file: string
}

/** A file with the connections of `node:sqlite`, or of the given driver. */
export async function openSqlite(open?: OpenBetter): Promise<SqliteInboxDatabase> {
	const file = temporaryFile()
	const reader = new DatabaseSync(file)
	reader.exec('PRAGMA journal_mode = WAL; CREATE TABLE effects (id TEXT)')
	onTestFinished(() => reader.close())
	return {
		file,
		begin: 'BEGIN IMMEDIATE',
		otherTx: { query: async () => ({ rows: [] }) },
		openStore(offsetMs = () => 0) {
			return sqliteInboxStore({
				file,
				open: open && ((name) => open(name)),
				clock: () => Date.now() + offsetMs(),
			})
		},
		async connect() {
			const tx = open ? open(file, { timeout: 0 }) : new DatabaseSync(file, { timeout: 0 })
			onTestFinished(() => {
				tx.close()
			})
			return {
				tx,
				run: async (sql) => {
					tx.exec(sql)
				},
				addEffect: async (id) => {
					tx.prepare(`INSERT INTO effects VALUES ('${id}')`).run()
				},
			}
		},
		effects: async () =>
			reader
				.prepare('SELECT id FROM effects ORDER BY id')
				.all()
				.map(({ id }) => String(id)),
	}
}
