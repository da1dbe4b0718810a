/**
 * Finds messages in all tables, in enqueue order. A message keeps its `seq` when it moves, so paging after
 * one leaves no gap even if it moved between two pages.
 */
import type { SqliteConnection, SqlRow, SqlValue } from '../../../sql/sqlite-connection.ts'
import type { MessageStatus } from '../../message/message.ts'
import type { StoredMessage } from '../rows.ts'
import type { StoreFilter } from '../store.ts'
import { type MessageRow, toStoredMessage } from '../stored-values.ts'
import type { Operations } from './executor.ts'

type Table = 'yaoki_outbox' | 'yaoki_outbox_dead' | 'yaoki_outbox_history'

/** The column that `since` and `until` refer to. */
const TIME_COLUMN: Readonly<Record<Table, string>> = {
	yaoki_outbox: 'created_at',
	yaoki_outbox_dead: 'died_at',
	yaoki_outbox_history: 'created_at',
}

/** All destinations of the queue, by jumps in an index. The index of keys begins with the destination, so that a claim finds the first of a key. */
const DESTINATIONS = `destination IN (WITH RECURSIVE names (name) AS (
	SELECT min(destination) FROM yaoki_outbox
	UNION ALL SELECT (SELECT min(destination) FROM yaoki_outbox WHERE destination > name) FROM names WHERE name IS NOT NULL
) SELECT name FROM names WHERE name IS NOT NULL)`

interface Condition {
	readonly sql: string
	readonly params: readonly SqlValue[]
}

/** Turns a filter into SQL. Only given fields become conditions, so that there are few texts and indexes are used. */
export function conditionOf(filter: StoreFilter, table: Table, now: number): Condition {
	const { ids, status, topic, destination, key, cause, fingerprint, since, until } = filter
	const parts: string[] = []
	const params: SqlValue[] = []
	const add = (sql: string, value: SqlValue | undefined): void => {
		if (value === undefined) return
		parts.push(sql)
		params.push(value)
	}
	add('id IN (SELECT value FROM json_each(?))', ids && JSON.stringify(ids))
	add('topic = ?', topic)
	add('destination = ?', destination)
	add('key = ?', key)
	if (table === 'yaoki_outbox' && key !== undefined && destination === undefined) parts.push(DESTINATIONS)
	// A queued message has no cause.
	add(table === 'yaoki_outbox' ? '? IS NULL' : 'cause = ?', cause)
	// The empty fingerprint selects rows without an error; other fingerprints must use the index.
	add(fingerprint === '' ? "coalesce(error_fingerprint, '') = ?" : 'error_fingerprint = ?', fingerprint)
	add(`${TIME_COLUMN[table]} >= ?`, since)
	add(`${TIME_COLUMN[table]} < ?`, until)
	if (table === 'yaoki_outbox') {
		add('lease_until > ?', status === 'processing' ? now : undefined)
		add('(lease_until IS NULL OR lease_until <= ?)', status === 'pending' ? now : undefined)
	} else if (table === 'yaoki_outbox_history') parts.push('cause IS NULL')
	return { sql: parts.length > 0 ? parts.join(' AND ') : 'TRUE', params }
}

const COMMON = `id, topic, destination, key, payload, headers, dedupe_key, attempts, max_retries, due_at, error_type, error_message,
	error_fingerprint, created_at, expires_at, crashes, seq`

const COLUMNS: Readonly<Record<Table, string>> = {
	yaoki_outbox: `${COMMON}, CASE WHEN lease_until > ? THEN 'processing' ELSE 'pending' END AS status,
		CASE WHEN locked_by IS NULL THEN last_attempt_at ELSE locked_at END AS last_attempt_at, locked_at, locked_by, lease_until,
		NULL AS ended_at, NULL AS cause, 0 AS blocks`,
	yaoki_outbox_dead: `${COMMON}, 'dead' AS status, last_attempt_at, NULL AS locked_at, NULL AS locked_by, NULL AS lease_until,
		died_at AS ended_at, cause, blocks`,
	yaoki_outbox_history: `${COMMON}, CASE WHEN cause IS NULL THEN 'sent' ELSE 'dead' END AS status, last_attempt_at,
		NULL AS locked_at, NULL AS locked_by, NULL AS lease_until, ended_at, cause, 0 AS blocks`,
}

/** What these columns are, in this order. */
const FIELDS: readonly (keyof MessageRow)[] = [
	...(['id', 'topic', 'destination', 'key', 'payload', 'headers', 'dedupeKey', 'attempts'] as const),
	...(['maxRetries', 'dueAt', 'errorType', 'errorMessage', 'errorFingerprint', 'createdAt'] as const),
	...(['expiresAt', 'crashes', 'seq', 'status', 'lastAttemptAt', 'lockedAt', 'lockedBy'] as const),
	...(['leaseUntil', 'endedAt', 'cause', 'blocks'] as const),
]

const ALL_TABLES: readonly Table[] = ['yaoki_outbox', 'yaoki_outbox_dead', 'yaoki_outbox_history']

const POSITION = 'SELECT destination, key, seq FROM yaoki_outbox WHERE id = ?'
const BEFORE = 'destination = ? AND key = ? AND seq < ? ORDER BY seq LIMIT 1'
export const BLOCKING: string = `SELECT ${COLUMNS.yaoki_outbox_dead} FROM yaoki_outbox_dead INDEXED BY yaoki_outbox_dead_blocking
	WHERE blocks = 1 AND ${BEFORE}`
export const QUEUED_BEFORE: string = `SELECT ${COLUMNS.yaoki_outbox} FROM yaoki_outbox INDEXED BY yaoki_outbox_key
	WHERE ${BEFORE}`

const TABLES_BY_STATUS: Readonly<Record<MessageStatus, readonly Table[]>> = {
	pending: ['yaoki_outbox'],
	processing: ['yaoki_outbox'],
	dead: ['yaoki_outbox_dead'],
	sent: ['yaoki_outbox_history'],
}

export const messageOperations = (
	connection: SqliteConnection,
): Operations<'find' | 'findPredecessor' | 'list'> => ({
	find(id) {
		const now = connection.now()
		for (const table of ALL_TABLES) {
			const params = table === 'yaoki_outbox' ? [now, id] : [id]
			const row = connection.row(`SELECT ${COLUMNS[table]} FROM ${table} WHERE id = ?`, ...params)
			if (row) return toMessage(row)
		}
		return undefined
	},
	findPredecessor(id) {
		const [destination = null, key = null, seq = null] = connection.row(POSITION, id) ?? []
		if (key === null) return undefined
		const row =
			connection.row(BLOCKING, destination, key, seq) ??
			connection.row(QUEUED_BEFORE, connection.now(), destination, key, seq)
		return row && toMessage(row)
	},
	list(filter, limit, after) {
		const now = connection.now()
		const start = after === undefined ? undefined : positionOf(connection, after)
		const tables = filter.status ? TABLES_BY_STATUS[filter.status] : ALL_TABLES.slice(0, 2)
		const params: SqlValue[] = []
		const parts = tables.map((table) => {
			const condition = conditionOf(filter, table, now)
			if (table === 'yaoki_outbox') params.push(now)
			params.push(...condition.params)
			if (start) params.push(start.value)
			return `SELECT ${COLUMNS[table]} FROM ${table} WHERE ${condition.sql}${start ? ` AND ${start.sql}` : ''}`
		})
		const text = `${parts.join(' UNION ALL ')} ORDER BY seq LIMIT ?`
		return connection.rows(text, ...params, limit).map(toMessage)
	},
})

/** Returns the position of a message. If it was deleted, only its id remains, which starts with its time. */
function positionOf(connection: SqliteConnection, id: string): { sql: string; value: SqlValue } {
	const text = ALL_TABLES.map((table) => `SELECT seq FROM ${table} WHERE id = ?1`).join(' UNION ALL ')
	const seq = connection.row(text, id)?.[0]
	return seq === undefined ? { sql: 'id > ?', value: id } : { sql: 'seq > ?', value: seq }
}

function toMessage(row: SqlRow): StoredMessage {
	const columns: unknown = Object.fromEntries(FIELDS.map((name, at) => [name, row[at]]))
	const message = toStoredMessage(columns as MessageRow)
	return { ...message, blocks: Boolean(message.blocks) }
}
