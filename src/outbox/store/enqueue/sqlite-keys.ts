/**
 * The dedupe keys, with a lifetime of their own. A key is taken until it expires, and as long as its message is queued or dead. The message is
 * looked up only for expired keys.
 */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { HELD_KEY_MS } from '../insert-options.ts'
import { MAX_TIME, timeAfter } from '../time-after.ts'

const hasMessage = (key: string): string => `(EXISTS (SELECT 1 FROM yaoki_outbox q WHERE q.id = ${key}.id)
	OR EXISTS (SELECT 1 FROM yaoki_outbox_dead d WHERE d.id = ${key}.id))`

/** ?1 key, ?2 id of the message, ?3 `notBefore`, ?4 now, ?5 the lifetime. Returns a row if the key was free. */
export const TAKE_KEY: string = `INSERT INTO yaoki_outbox_dedupe AS k (dedupe_key, id, expires_at)
	VALUES (?1, ?2, min(max(coalesce(?3, 0), ?4) + ?5, ${MAX_TIME}))
	ON CONFLICT (dedupe_key) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at
	WHERE k.expires_at <= ?4 AND NOT ${hasMessage('k')} RETURNING id`

export const KEY_HOLDER = 'SELECT id FROM yaoki_outbox_dedupe WHERE dedupe_key = ?1'

const EXPIRED = `SELECT k.dedupe_key, ${hasMessage('k')} FROM yaoki_outbox_dedupe k WHERE k.expires_at <= ?
	ORDER BY k.expires_at LIMIT ?`
const IS_LISTED = 'dedupe_key IN (SELECT value FROM json_each(?))'
const DROP = `DELETE FROM yaoki_outbox_dedupe WHERE ${IS_LISTED}`
const KEEP = `UPDATE yaoki_outbox_dedupe SET expires_at = ? WHERE ${IS_LISTED}`

export function dropDedupeKeys(connection: SqliteConnection, limit: number): number {
	const now = connection.now()
	const expired = connection.rows(EXPIRED, now, limit)
	const keysWith = (isTaken: number): string =>
		JSON.stringify(expired.filter((row) => row[1] === isTaken).map(([key]) => key))
	if (expired.length === 0) return 0
	connection.run(DROP, keysWith(0))
	connection.run(KEEP, timeAfter(now, HELD_KEY_MS), keysWith(1))
	return expired.length
}
