/** Lists, replays and discards dead letters, and makes scheduled messages due. A copy is written before a row is deleted. */
import type { SqliteConnection, SqlValue } from '../../../sql/sqlite-connection.ts'
import type { DeadLetterCause } from '../../message/message.ts'
import { cappedCount } from '../count-limits.ts'
import type { MessageEdit, StoreFilter } from '../store.ts'
import type { Operations } from './executor.ts'
import { conditionOf } from './filter.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './schema.ts'

const includesDead = ({ status }: StoreFilter): boolean => status === undefined || status === 'dead'

interface Selection {
	readonly ids: readonly string[]
	/** JSON. */
	readonly seqs: string
}

function selectDead(connection: SqliteConnection, filter: StoreFilter, limit: number): Selection {
	if (!includesDead(filter)) return { ids: [], seqs: '[]' }
	const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
	const text = `SELECT seq, id FROM yaoki_outbox_dead WHERE ${sql} ORDER BY seq LIMIT ?`
	return toSelection(connection.rows(text, ...params, limit))
}

const toSelection = (rows: readonly (readonly SqlValue[])[]): Selection => ({
	ids: rows.map(([, id]) => String(id)),
	seqs: `[${rows.map(([seq]) => seq).join()}]`,
})

const IS_SELECTED = 'seq IN (SELECT value FROM json_each(?))'
const DELETE_DEAD = `DELETE FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`

/** Columns that a replay resets. */
const RESET: Readonly<Record<string, string>> = { attempts: '0', crashes: '0', delay_ms: 'NULL' }

const EDIT_COLUMNS = {
	payload: 'payload',
	headers: 'headers',
	destination: 'destination',
	expiresAt: 'expires_at',
	maxRetries: 'max_retries',
} as const satisfies Record<keyof MessageEdit, string>

const COPY_TO_HISTORY = `INSERT INTO yaoki_outbox_history (${HISTORY_COLUMNS}, last_attempt_at, ended_at, cause)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?, cause FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`

const DROP_HISTORY = `DELETE FROM yaoki_outbox_history WHERE seq IN
	(SELECT seq FROM yaoki_outbox_history WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`

export const deadLetterOperations = (
	connection: SqliteConnection,
): Operations<'deadGroups' | 'countDead' | 'replay' | 'discard' | 'retryNow' | 'dropHistory'> => ({
	deadGroups(filter, limit) {
		if (!includesDead(filter)) return []
		const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
		const text = `SELECT g.fingerprint, g.cause, g.destination, d.error_type, d.error_message, g.count, g.first_at, g.last_at, d.id
		FROM (SELECT coalesce(error_fingerprint, '') AS fingerprint, cause, destination, count(*) AS count, min(died_at) AS first_at,
				max(died_at) AS last_at, min(seq) AS oldest
			FROM yaoki_outbox_dead WHERE ${sql} GROUP BY 1, 2, 3) g
		JOIN yaoki_outbox_dead d ON d.seq = g.oldest ORDER BY g.count DESC, g.oldest LIMIT ?`
		return connection.rows(text, ...params, limit).map((row) => ({
			fingerprint: row[0] as string,
			cause: row[1] as DeadLetterCause,
			destination: row[2] as string,
			errorType: row[3] as string | null,
			errorMessage: row[4] as string | null,
			count: row[5] as number,
			firstAt: row[6] as number,
			lastAt: row[7] as number,
			exampleId: row[8] as string,
		}))
	},
	countDead(filter, limit) {
		if (!includesDead(filter)) return { count: 0, isCapped: false }
		const { sql, params } = conditionOf(filter, 'yaoki_outbox_dead', 0)
		const text = `SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE ${sql} LIMIT ?)`
		return cappedCount(connection.number(text, ...params, limit + 1), limit)
	},
	/** Drops the latest error too: an error after a replay is one of the replay. */
	replay(filter, limit, edit = {}) {
		const { ids, seqs } = selectDead(connection, filter, limit)
		if (ids.length === 0) return ids
		const values = new Map<string, SqlValue>([['due_at', connection.now()]])
		for (const [name, column] of Object.entries(EDIT_COLUMNS)) {
			const value = edit[name as keyof MessageEdit]
			if (value !== undefined) values.set(column, value)
		}
		const columns = MOVED_COLUMNS.split(', ')
		const params = columns.flatMap((column) => values.get(column) ?? (values.has(column) ? [null] : []))
		const sources = columns.map((column) => (values.has(column) ? '?' : (RESET[column] ?? column)))
		const copy = `INSERT INTO yaoki_outbox (${MOVED_COLUMNS}) SELECT ${sources.join(', ')} FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`
		connection.run(copy, ...params, seqs)
		connection.run(DELETE_DEAD, seqs)
		return ids
	},
	discard(filter, limit, keepHistory) {
		const { ids, seqs } = selectDead(connection, filter, limit)
		if (ids.length === 0) return ids
		if (keepHistory) connection.run(COPY_TO_HISTORY, connection.now(), seqs)
		connection.run(DELETE_DEAD, seqs)
		return ids
	},
	retryNow(filter, limit) {
		const { status = 'pending' } = filter
		if (status !== 'pending') return []
		const now = connection.now()
		const { sql, params } = conditionOf({ ...filter, status }, 'yaoki_outbox', now)
		const hasFailed = filter.ids === undefined ? 'AND attempts > 0' : ''
		const text = `SELECT seq, id FROM yaoki_outbox WHERE ${sql} ${hasFailed} AND due_at > ? ORDER BY seq LIMIT ?`
		const { ids, seqs } = toSelection(connection.rows(text, ...params, now, limit))
		if (ids.length > 0) connection.run(`UPDATE yaoki_outbox SET due_at = ? WHERE ${IS_SELECTED}`, now, seqs)
		return ids
	},
	dropHistory: (olderThanMs, limit) => connection.run(DROP_HISTORY, connection.now() - olderThanMs, limit),
})
