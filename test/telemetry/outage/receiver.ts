/** A receiver with an inbox, to which some messages are delivered twice, and whose function fails now and then. */
import { DatabaseSync } from 'node:sqlite'
import { Inbox, sqliteInboxStore } from '../../../src/outbox/index.ts'
import { temporaryFile } from '../../support/temporary-file.ts'

export async function createReceiver() {
	const file = temporaryFile()
	const inbox = new Inbox({ store: sqliteInboxStore(file), purgeEveryMs: 0 })
	await inbox.migrate()
	const db = new DatabaseSync(file)
	const receive = (id: string, effect: () => void): void => {
		db.exec('BEGIN IMMEDIATE')
		try {
			inbox.onceSync(id, { tx: db }, effect)
			db.exec('COMMIT')
		} catch {
			db.exec('ROLLBACK')
		}
	}
	return {
		inbox,
		/** A message that is delivered twice, and one that fails. */
		run(round: number): void {
			for (let delivery = 0; delivery < 2; delivery++) receive(`message-${round}`, () => {})
			receive('broken', () => {
				throw new Error('no such order')
			})
		},
		async close(): Promise<void> {
			db.close()
			await inbox.close()
		},
	}
}
