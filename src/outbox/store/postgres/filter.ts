/**
 * A filter as SQL. Only what was asked for is in the text, so that the planner sees it and takes the index that fits; these
 * statements are people's, few and never the same, and are not prepared.
 */
import type { StoreFilter } from '../store.ts'
import type { Value } from './connection.ts'
import { isUuid, uuidList } from './rows.ts'

export type Table = 'outbox' | 'outbox_dead' | 'outbox_history'

/** Collects parameters as the text is written. */
export class Parameters {
	readonly values: Value[] = []

	/** Its place in the text, with its type, which PostgreSQL could not always guess. */
	add(value: Value, type: 'text' | 'bigint' | 'int' | 'uuid' | 'text::uuid[]'): string {
		this.values.push(value)
		return `$${this.values.length}::${type}`
	}
}

/** When a message of this table counts as having happened. */
const HAPPENED: Record<Table, string> = {
	outbox: 'created_at',
	outbox_dead: 'died_at',
	outbox_history: 'created_at',
}

const IN_FLIGHT = 'coalesce(lease_until > {now}, false)'

/** The fingerprint of those that died without an error is the empty text. */
export const FINGERPRINT = "coalesce(error_fingerprint, '')"

/** Where the row is tells most of its status. */
function statusSql(table: Table, status: StoreFilter['status']): string {
	if (status === undefined) return 'true'
	if (table === 'outbox_dead') return status === 'dead' ? 'true' : 'false'
	if (table === 'outbox_history') {
		return status === 'sent' ? 'cause is null' : status === 'dead' ? 'cause is not null' : 'false'
	}
	if (status === 'processing') return IN_FLIGHT
	return status === 'pending' ? `not ${IN_FLIGHT}` : 'false'
}

/** A condition over the rows of this table, to be put after `where`. */
export function filterSql(table: Table, filter: StoreFilter, parameters: Parameters): string {
	const conditions = [statusSql(table, filter.status)]
	const { ids, topic, destination, key, cause, fingerprint, since, until } = filter
	if (ids !== undefined) {
		conditions.push(`id = any(${parameters.add(uuidList(ids.filter(isUuid)), 'text::uuid[]')})`)
	}
	if (topic !== undefined) conditions.push(`topic = ${parameters.add(topic, 'text')}`)
	if (destination !== undefined) conditions.push(`destination = ${parameters.add(destination, 'text')}`)
	if (key !== undefined) conditions.push(`key = ${parameters.add(key, 'text')}`)
	if (cause !== undefined) {
		conditions.push(table === 'outbox' ? 'false' : `cause = ${parameters.add(cause, 'text')}`)
	}
	if (fingerprint !== undefined) {
		const column = fingerprint === '' ? FINGERPRINT : 'error_fingerprint'
		conditions.push(`${column} = ${parameters.add(fingerprint, 'text')}`)
	}
	if (since !== undefined)
		conditions.push(`${HAPPENED[table]} >= ${parameters.add(Math.ceil(since), 'bigint')}`)
	if (until !== undefined)
		conditions.push(`${HAPPENED[table]} < ${parameters.add(Math.ceil(until), 'bigint')}`)
	return conditions.join(' and ')
}
