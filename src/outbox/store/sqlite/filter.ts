/** A filter as SQL. Only what was given becomes a condition, so that the texts are few and the indexes are used. */
import type { StoreFilter } from '../store.ts'
import type { SqlValue } from './connection.ts'

export type Table = 'yaoki_outbox' | 'yaoki_outbox_dead' | 'yaoki_outbox_history'

/** When a row of this table was new there: what `since` and `until` are about. */
const BEGAN: Readonly<Record<Table, string>> = {
	yaoki_outbox: 'created_at',
	yaoki_outbox_dead: 'died_at',
	yaoki_outbox_history: 'created_at',
}

export interface Condition {
	readonly sql: string
	readonly params: readonly SqlValue[]
}

/** What it says of the rows of one table; of the status only what that table can tell. */
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
	// Who is in the queue has no cause of death.
	add(table === 'yaoki_outbox' ? '? IS NULL' : 'cause = ?', cause)
	// Those without an error are a group as well, the one with the empty fingerprint; for others the index is to be used.
	add(fingerprint === '' ? "coalesce(error_fingerprint, '') = ?" : 'error_fingerprint = ?', fingerprint)
	add(`${BEGAN[table]} >= ?`, since)
	add(`${BEGAN[table]} < ?`, until)
	if (table === 'yaoki_outbox') {
		add('lease_until > ?', status === 'processing' ? now : undefined)
		add('(lease_until IS NULL OR lease_until <= ?)', status === 'pending' ? now : undefined)
	} else if (table === 'yaoki_outbox_history') parts.push('cause IS NULL')
	return { sql: parts.length > 0 ? parts.join(' AND ') : 'TRUE', params }
}
