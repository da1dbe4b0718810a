/** The operations on the table: a mark on the user's connection, and the others on the store's own. */
import type { SqliteClient } from '../../../../sql/clients.ts'
import { countChanges, isOpen, type RunStatement, runOn } from '../../../../sql/sqlite-client.ts'
import type { SqliteConnection } from '../../../../sql/sqlite-connection.ts'
import { transactionState } from '../../../../sql/transaction-state.ts'
import { timeAfter } from '../../../store/stored-values.ts'
import { type InboxCounts, type MarkKey, type NewMark, type StoredMark, toCapped } from '../store.ts'

const MARK = `
INSERT INTO yaoki_inbox (inbox, message_id, token, processed_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING`

const UNMARK = 'DELETE FROM yaoki_inbox WHERE inbox = ?1 AND message_id = ?2 AND token = ?3'

/** Finds a mark by inbox and message. */
export const FIND_MARK =
	'SELECT processed_at, expires_at FROM yaoki_inbox WHERE inbox = ?1 AND message_id = ?2'

const FORGET = 'DELETE FROM yaoki_inbox WHERE inbox = ?1 AND message_id = ?2'

const NAMES = `
WITH RECURSIVE names (inbox) AS (
	SELECT min(inbox) FROM yaoki_inbox
	UNION ALL
	SELECT (SELECT min(i.inbox) FROM yaoki_inbox i WHERE i.inbox > names.inbox) FROM names WHERE names.inbox IS NOT NULL
)
SELECT inbox FROM names WHERE inbox IS NOT NULL`

const PURGE = `
DELETE FROM yaoki_inbox WHERE inbox = ?1 AND message_id IN (
	SELECT message_id FROM yaoki_inbox WHERE inbox = ?1 AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3
)`

const COUNT = 'SELECT count(*) FROM (SELECT 1 FROM yaoki_inbox WHERE inbox = ?1 LIMIT ?2)'
const COUNT_EXPIRED =
	'SELECT count(*) FROM (SELECT 1 FROM yaoki_inbox WHERE inbox = ?1 AND expires_at <= ?3 LIMIT ?2)'
const OLDEST = 'SELECT processed_at FROM yaoki_inbox WHERE inbox = ?1 ORDER BY expires_at LIMIT 1'

/** Returns whether the mark was written; undefined without an open transaction. */
export function markOn(tx: SqliteClient, now: number, mark: NewMark): boolean | undefined {
	const state = transactionState(tx)
	if (state === 'none' || (state === 'unknown' && !isOpen(runOn(tx)))) return undefined
	const { inbox, messageId, token, retentionMs } = mark
	// Counted, because a returned row costs as much again as the insert.
	return countChanges(tx, MARK, inbox, messageId, token, now, timeAfter(now, retentionMs)) > 0
}

/** Runs on either connection. */
export function unmarkBy(run: RunStatement, { inbox, messageId, token }: NewMark): void {
	run(UNMARK, inbox, messageId, token)
}

export class SqliteMarks {
	readonly #connection: SqliteConnection

	constructor(connection: SqliteConnection) {
		this.#connection = connection
	}

	unmark(mark: NewMark): void {
		unmarkBy((sql, ...params) => this.#connection.rows(sql, ...params), mark)
	}

	find(key: MarkKey): StoredMark | undefined {
		const row = this.#connection.row(FIND_MARK, key.inbox, key.messageId)
		return row && { ...key, processedAt: Number(row[0]), expiresAt: Number(row[1]) }
	}

	forget({ inbox, messageId }: MarkKey): boolean {
		return this.#connection.run(FORGET, inbox, messageId) > 0
	}

	purge(limit: number): number {
		const now = this.#connection.now()
		let deleted = 0
		for (const name of this.#names())
			if (deleted < limit) deleted += this.#connection.run(PURGE, name, now, limit - deleted)
		return deleted
	}

	stats(limit: number, only?: string): readonly InboxCounts[] {
		const connection = this.#connection
		const now = connection.now()
		return (only === undefined ? this.#names() : [only]).map((inbox) => {
			const oldest = connection.row(OLDEST, inbox)
			return {
				inbox,
				marks: toCapped(connection.number(COUNT, inbox, limit + 1), limit),
				expired: toCapped(connection.number(COUNT_EXPIRED, inbox, limit + 1, now), limit),
				oldestAgeMs: oldest ? now - Number(oldest[0]) : null,
			}
		})
	}

	#names(): readonly string[] {
		return this.#connection.rows(NAMES).map(([name]) => String(name))
	}
}
