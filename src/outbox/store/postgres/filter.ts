/**
 * Turns a filter into SQL. The text contains only given fields, so that the planner sees them and uses the
 * matching index. These statements come from people, are few and differ, and are not prepared.
 */
import { isUuid, uuidList, type Value } from '../../../sql/postgres-values.ts'
import type { StoreFilter } from '../store.ts'

export type Table = 'outbox' | 'outbox_dead' | 'outbox_history'

export class Parameters {
	readonly values: Value[] = []

	/** Returns the placeholder with its type, which PostgreSQL cannot always infer. */
	add(value: Value, type: 'text' | 'bigint' | 'int' | 'uuid' | 'text::uuid[]'): string {
		this.values.push(value)
		return `$${this.values.length}::${type}`
	}
}

/** The column that `since` and `until` refer to. */
const TIME_COLUMN: Record<Table, string> = {
	outbox: 'created_at',
	outbox_dead: 'died_at',
	outbox_history: 'created_at',
}

const IN_FLIGHT = 'coalesce(lease_until > {now}, false)'

/** Dead letters without an error have the empty fingerprint. */
export const FINGERPRINT = "coalesce(error_fingerprint, '')"

function statusSql(table: Table, status: StoreFilter['status']): string {
	if (status === undefined) return 'true'
	if (table === 'outbox_dead') return status === 'dead' ? 'true' : 'false'
	if (table === 'outbox_history')
		return status === 'sent' ? 'cause is null' : status === 'dead' ? 'cause is not null' : 'false'
	if (status === 'processing') return IN_FLIGHT
	return status === 'pending' ? `not ${IN_FLIGHT}` : 'false'
}

export function filterSql(table: Table, filter: StoreFilter, parameters: Parameters): string {
	const { ids, topic, destination, key, cause, fingerprint, since, until } = filter
	const conditions = [statusSql(table, filter.status)]
	const compare = (sql: string, value: string | undefined): void => {
		if (value !== undefined) conditions.push(`${sql} = ${parameters.add(value, 'text')}`)
	}
	if (ids !== undefined)
		conditions.push(`id = any(${parameters.add(uuidList(ids.filter(isUuid)), 'text::uuid[]')})`)
	compare('topic', topic)
	compare('destination', destination)
	compare('key', key)
	if (table === 'outbox') conditions.push(cause === undefined ? 'true' : 'false')
	else compare('cause', cause)
	compare(fingerprint === '' ? FINGERPRINT : 'error_fingerprint', fingerprint)
	if (since !== undefined)
		conditions.push(`${TIME_COLUMN[table]} >= ${parameters.add(Math.ceil(since), 'bigint')}`)
	if (until !== undefined)
		conditions.push(`${TIME_COLUMN[table]} < ${parameters.add(Math.ceil(until), 'bigint')}`)
	return conditions.join(' and ')
}
