/** Lists, replays and discards dead letters, and makes queued messages due or expire. A copy is written before a row is deleted. */
import type { SqliteConnection, SqlValue } from '../../../sql/sqlite-connection.ts'
import type { DeadLetterCause } from '../../message/message.ts'
import { cappedCount } from '../counting.ts'
import type { AuditRow, OperatorChange } from '../rows.ts'
import type { MessageEdit, StoreAuditFilter, StoreFilter } from '../store.ts'
import { editChanges, operatorChanges } from '../stored-values.ts'
import type { Operations } from './executor.ts'
import { conditionOf } from './messages.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './schema.ts'

const includesDead = ({ status }: StoreFilter): boolean => status === undefined || status === 'dead'

export interface Selection {
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

export const toSelection = (rows: readonly (readonly SqlValue[])[]): Selection => ({
	ids: rows.map(([, id]) => String(id)),
	seqs: `[${rows.map(([seq]) => seq).join()}]`,
})

export const IS_SELECTED = 'seq IN (SELECT value FROM json_each(?))'
const DELETE_DEAD = `DELETE FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`

/** Columns that a replay resets. */
export const RESET: Readonly<Record<string, string>> = { attempts: '0', crashes: '0', delay_ms: 'NULL' }

const EDIT_COLUMNS = {
	payload: 'payload',
	headers: 'headers',
	destination: 'destination',
	expiresAt: 'expires_at',
	maxRetries: 'max_retries',
} as const satisfies Record<keyof MessageEdit, string>

const COPY_TO_HISTORY = `INSERT INTO yaoki_outbox_history (${HISTORY_COLUMNS}, last_attempt_at, ended_at, cause)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?, cause FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`

export const auditSql = (
	table: string,
	cause: string,
	content = 'payload, headers',
): string => `INSERT INTO yaoki_outbox_audit (done_at, done_by, reason, action, changes, destination,
		message_id, topic, key, cause, payload, headers)
	SELECT ?, ?, ?, ?, ?, destination, id, topic, key, ${cause}, ${content} FROM ${table} WHERE ${IS_SELECTED} ORDER BY seq`
const AUDIT = auditSql('yaoki_outbox_dead', 'cause')
const AUDIT_QUEUED = auditSql('yaoki_outbox', 'NULL')
const AUDIT_RETRIED = auditSql('yaoki_outbox', 'NULL', 'NULL, NULL')

export const AUDIT_CHANGE = `INSERT INTO yaoki_outbox_audit (done_at, done_by, reason, action, changes, destination) VALUES (?, ?, ?, ?, ?, ?)`

/** Runs in the transaction of the change. */
export function auditChange(connection: SqliteConnection, change: OperatorChange, now: number): void {
	const { by, reason, action, destination } = change
	connection.run(AUDIT_CHANGE, now, by, reason, action, operatorChanges(change), destination)
}

const AUDIT_COLUMNS = {
	seq: 'seq',
	at: 'done_at',
	by: 'done_by',
	reason: 'reason',
	action: 'action',
	destination: 'destination',
	messageId: 'message_id',
	topic: 'topic',
	key: 'key',
	cause: 'cause',
	payload: 'payload',
	headers: 'headers',
	changes: 'changes',
} as const satisfies Record<keyof AuditRow, string>

const AUDIT_NAMES = Object.keys(AUDIT_COLUMNS)

const toAuditRow = (row: readonly SqlValue[]): AuditRow =>
	Object.fromEntries(AUDIT_NAMES.map((name, at) => [name, row[at]])) as unknown as AuditRow

const AUDIT_CONDITIONS = {
	action: 'action = ?',
	destination: 'destination = ?',
	by: 'done_by = ?',
	messageId: 'message_id = ?',
	since: 'done_at >= ?',
	until: 'done_at < ?',
} as const satisfies Record<keyof StoreAuditFilter, string>

const DROP_AUDIT = `DELETE FROM yaoki_outbox_audit WHERE seq IN
	(SELECT seq FROM yaoki_outbox_audit WHERE done_at < ? ORDER BY done_at LIMIT ?)`

const DROP_HISTORY = `DELETE FROM yaoki_outbox_history WHERE seq IN
	(SELECT seq FROM yaoki_outbox_history WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`

export const deadLetterOperations = (
	connection: SqliteConnection,
): Operations<
	| 'deadGroups'
	| 'countDead'
	| 'replay'
	| 'discard'
	| 'retryNow'
	| 'expire'
	| 'dropHistory'
	| 'audit'
	| 'dropAudit'
> => ({
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
			isCapped: false,
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
	replay(filter, limit, { by, reason }, edit = {}) {
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
		const copy = `INSERT INTO yaoki_outbox (${MOVED_COLUMNS}, in_order) SELECT ${sources.join(', ')}, 0 FROM yaoki_outbox_dead WHERE ${IS_SELECTED}`
		connection.run(copy, ...params, seqs)
		const changes = editChanges(edit)
		const action = changes === null ? 'replay' : 'edit'
		connection.run(AUDIT, connection.now(), by, reason, action, changes, seqs)
		connection.run(DELETE_DEAD, seqs)
		return ids
	},
	discard(filter, limit, { by, reason }, keepHistory) {
		const { ids, seqs } = selectDead(connection, filter, limit)
		if (ids.length === 0) return ids
		if (keepHistory) connection.run(COPY_TO_HISTORY, connection.now(), seqs)
		connection.run(AUDIT, connection.now(), by, reason, 'discard', null, seqs)
		connection.run(DELETE_DEAD, seqs)
		return ids
	},
	retryNow(filter, limit, maxAttempts = Number.MAX_SAFE_INTEGER, operator) {
		const { status = 'pending' } = filter
		if (status !== 'pending') return []
		const now = connection.now()
		const { sql, params } = conditionOf({ ...filter, status }, 'yaoki_outbox', now)
		const hasFailed = filter.ids === undefined ? 'AND attempts > 0' : ''
		const text = `SELECT seq, id FROM yaoki_outbox WHERE ${sql} ${hasFailed} AND attempts <= ? AND due_at > ? ORDER BY seq LIMIT ?`
		const { ids, seqs } = toSelection(connection.rows(text, ...params, maxAttempts, now, limit))
		if (ids.length === 0) return ids
		connection.run(`UPDATE yaoki_outbox SET due_at = ? WHERE ${IS_SELECTED}`, now, seqs)
		if (operator) connection.run(AUDIT_RETRIED, now, operator.by, operator.reason, 'retry', null, seqs)
		return ids
	},
	expire(filter, limit, { by, reason }) {
		const { status = 'pending' } = filter
		if (status !== 'pending') return []
		const now = connection.now()
		const { sql, params } = conditionOf({ ...filter, status }, 'yaoki_outbox', now)
		const text = `SELECT seq, id FROM yaoki_outbox WHERE ${sql} AND (expires_at IS NULL OR expires_at > ?) ORDER BY seq LIMIT ?`
		const { ids, seqs } = toSelection(connection.rows(text, ...params, now, limit))
		if (ids.length === 0) return ids
		connection.run(AUDIT_QUEUED, now, by, reason, 'expire', null, seqs)
		const update = `UPDATE yaoki_outbox SET expires_at = ?1, due_at = min(due_at, ?1) WHERE seq IN (SELECT value FROM json_each(?2))`
		connection.run(update, now, seqs)
		return ids
	},
	audit(filter, limit, before) {
		const conditions = ['seq < ?']
		const params: SqlValue[] = [before ?? Number.MAX_SAFE_INTEGER]
		for (const [name, condition] of Object.entries(AUDIT_CONDITIONS)) {
			const value = filter[name as keyof StoreAuditFilter]
			if (value === undefined) continue
			conditions.push(condition)
			params.push(value)
		}
		const sql = `SELECT ${Object.values(AUDIT_COLUMNS).join(', ')} FROM yaoki_outbox_audit
			WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`
		return connection.rows(sql, ...params, limit).map(toAuditRow)
	},
	dropAudit: (olderThanMs, limit) => connection.run(DROP_AUDIT, connection.now() - olderThanMs, limit),
	dropHistory: (olderThanMs, limit) => connection.run(DROP_HISTORY, connection.now() - olderThanMs, limit),
})
