/** Moves sent messages from the history back into the queue. A copy is written before a row is deleted. */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { auditSql, IS_SELECTED, RESET, toSelection } from './dead-letters.ts'
import type { Operations } from './executor.ts'
import { conditionOf } from './messages.ts'
import { MOVED_COLUMNS } from './schema.ts'

/** ?1 is the time. What a replay resets, and an expiry that would end the message now. */
const RESENT: Readonly<Record<string, string>> = {
	...RESET,
	due_at: '?1',
	expires_at: 'CASE WHEN expires_at > ?1 THEN expires_at END',
}

const VALUES = MOVED_COLUMNS.split(', ').map((column) => RESENT[column] ?? column)

const SELECTED = 'seq IN (SELECT value FROM json_each(?2))'

const COPY = `INSERT INTO yaoki_outbox (${MOVED_COLUMNS}, in_order)
	SELECT ${VALUES.join(', ')}, 0 FROM yaoki_outbox_history WHERE ${SELECTED}`

/**
 * A queued message has its dedupe key, unless a later message took it after it had expired. The key expires
 * now: it is free again when the message is sent.
 */
const TAKE_KEYS = `INSERT INTO yaoki_outbox_dedupe (dedupe_key, id, expires_at)
	SELECT dedupe_key, id, ?1 FROM yaoki_outbox_history WHERE dedupe_key IS NOT NULL AND ${SELECTED} ORDER BY seq
	ON CONFLICT (dedupe_key) DO NOTHING`

const AUDIT = auditSql('yaoki_outbox_history', 'NULL')
const DELETE = `DELETE FROM yaoki_outbox_history WHERE ${IS_SELECTED}`

export const resendOperations = (connection: SqliteConnection): Operations<'resend'> => ({
	resend({ status = 'sent', ...filter }, limit, { by, reason }) {
		if (status !== 'sent') return []
		const now = connection.now()
		const { sql, params } = conditionOf(filter, 'yaoki_outbox_history', now)
		const text = `SELECT seq, id FROM yaoki_outbox_history WHERE ${sql} ORDER BY seq LIMIT ?`
		const { ids, seqs } = toSelection(connection.rows(text, ...params, limit))
		if (ids.length === 0) return ids
		connection.run(COPY, now, seqs)
		connection.run(TAKE_KEYS, now, seqs)
		connection.run(AUDIT, now, by, reason, 'resend', null, seqs)
		connection.run(DELETE, seqs)
		return ids
	},
})
