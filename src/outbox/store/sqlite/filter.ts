/** Turns a filter into SQL. Only given fields become conditions, so that there are few texts and indexes are used. */
import type { SqlValue } from '../../../sql/sqlite-connection.ts'
import type { StoreFilter } from '../store.ts'

export type Table = 'yaoki_outbox' | 'yaoki_outbox_dead' | 'yaoki_outbox_history'

/** The column that `since` and `until` refer to. */
const TIME_COLUMN: Readonly<Record<Table, string>> = {
	yaoki_outbox: 'created_at',
	yaoki_outbox_dead: 'died_at',
	yaoki_outbox_history: 'created_at',
}

export interface Condition {
	readonly sql: string
	readonly params: readonly SqlValue[]
}

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
