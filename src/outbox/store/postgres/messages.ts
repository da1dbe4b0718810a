/** Finds one message or a page of messages in all tables, in enqueue order. */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, uuidList, type Value, withNumbers } from '../../../sql/postgres-values.ts'
import type { MessageStatus } from '../../message/message.ts'
import type { StoredMessage } from '../rows.ts'
import type { OutboxStore, StoreFilter } from '../store.ts'
import { type MessageRow, toStoredMessage } from '../stored-values.ts'

type Table = 'outbox' | 'outbox_dead' | 'outbox_history'

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

/** The time is a subquery: no index has the lease, and a clock that is read for each row takes as long as the row. */
const IN_FLIGHT = 'coalesce(lease_until > (select {now}), false)'

/** What the indexes of searches begin with. */
const SEARCHED = { destination: "(destination || '')", key: "(key || '')" } as const

/** The enqueue order, as the index has it that a search with this filter uses. */
export const seqOf = (table: Table, { destination, key }: StoreFilter): string =>
	table === 'outbox' && destination === undefined && key === undefined ? '(seq + 0)' : 'seq'

/** All destinations of the queue, by jumps in an index: the index of keys begins with the destination. */
const ALL_DESTINATIONS = `destination = any(array(
	with recursive names as (
		(select destination from {s}.outbox order by destination limit 1)
		union all
		select (select o.destination from {s}.outbox o where o.destination > names.destination order by o.destination limit 1)
		from names where names.destination is not null
	) select destination from names where destination is not null))`

function statusSql(table: Table, status: StoreFilter['status']): string {
	if (status === undefined) return 'true'
	if (table === 'outbox_dead') return status === 'dead' ? 'true' : 'false'
	if (table === 'outbox_history')
		return status === 'sent' ? 'cause is null' : status === 'dead' ? 'cause is not null' : 'false'
	if (status === 'processing') return IN_FLIGHT
	return status === 'pending' ? `not ${IN_FLIGHT}` : 'false'
}

/**
 * Turns a filter into SQL. The text contains only given fields, so that the planner sees them and uses the
 * matching index. These statements come from people, are few and differ, and are not prepared. `isOrdered` false: a
 * count, for which an index of the destination is enough, without the table.
 */
export function filterSql(
	table: Table,
	filter: StoreFilter,
	parameters: Parameters,
	isOrdered = true,
): string {
	const { ids, topic, destination, key, cause, fingerprint, since, until } = filter
	const conditions = [statusSql(table, filter.status)]
	const compare = (sql: string, value: string | undefined): void => {
		if (value !== undefined) conditions.push(`${sql} = ${parameters.add(value, 'text')}`)
	}
	if (ids !== undefined)
		conditions.push(`id = any(${parameters.add(uuidList(ids.filter(isUuid)), 'text::uuid[]')})`)
	compare('topic', topic)
	// The queue has an index of destination and key, which claims use too.
	const isOfKey = table === 'outbox' && key !== undefined
	compare(isOfKey || !isOrdered ? 'destination' : SEARCHED.destination, destination)
	if (isOfKey && destination === undefined) conditions.push(ALL_DESTINATIONS)
	if (key !== undefined && table !== 'outbox') conditions.push('key is not null')
	compare(table === 'outbox' ? 'key' : SEARCHED.key, key)
	if (table === 'outbox') conditions.push(cause === undefined ? 'true' : 'false')
	else compare('cause', cause)
	// Messages without an error have the empty fingerprint.
	compare(table === 'outbox_dead' ? 'fingerprint' : "coalesce(error_fingerprint, '')", fingerprint)
	if (since !== undefined)
		conditions.push(`${TIME_COLUMN[table]} >= ${parameters.add(Math.ceil(since), 'bigint')}`)
	if (until !== undefined)
		conditions.push(`${TIME_COLUMN[table]} < ${parameters.add(Math.ceil(until), 'bigint')}`)
	return conditions.join(' and ')
}

const SHARED = `id::text as id, seq, topic, destination, key, payload, headers, dedupe_key as "dedupeKey", attempts,
	max_retries as "maxRetries", error_type as "errorType", error_message as "errorMessage",
	error_fingerprint as "errorFingerprint", created_at as "createdAt", expires_at as "expiresAt", crashes`

const REST: Record<Table, string> = {
	outbox: `case when lease_until > {now} then 'processing' else 'pending' end as status, due_at as "dueAt",
		coalesce(locked_at, last_attempt_at) as "lastAttemptAt", locked_at as "lockedAt", locked_by as "lockedBy",
		lease_until as "leaseUntil", null::bigint as "endedAt", null::text as cause, false as blocks`,
	outbox_dead: `'dead' as status, due_at as "dueAt", last_attempt_at as "lastAttemptAt", null::bigint as "lockedAt",
		null::text as "lockedBy", null::bigint as "leaseUntil", died_at as "endedAt", cause, blocks`,
	outbox_history: `case when cause is null then 'sent' else 'dead' end as status, due_at as "dueAt",
		last_attempt_at as "lastAttemptAt", null::bigint as "lockedAt", null::text as "lockedBy", null::bigint as "leaseUntil",
		ended_at as "endedAt", cause, false as blocks`,
}

const NUMBERS: readonly (keyof MessageRow)[] = [
	...(['attempts', 'maxRetries', 'dueAt', 'lastAttemptAt', 'lockedAt'] as const),
	...(['leaseUntil', 'createdAt', 'expiresAt', 'crashes', 'endedAt'] as const),
]

const toMessage = (row: MessageRow): StoredMessage => toStoredMessage(withNumbers(row, NUMBERS))

const FIND = (['outbox', 'outbox_dead', 'outbox_history'] as const)
	.map((table) => `select ${SHARED}, ${REST[table]} from {s}.${table} where id = $1::uuid`)
	.join('\nunion all\n')

const before = (table: 'outbox' | 'outbox_dead', which: string): string => `
select ${SHARED}, ${REST[table]} from place cross join lateral (
	select o.* from {s}.${table} o
	where ${which} and o.key = place.of_key and (o.key, o.seq) < (place.of_key, place.at_seq)
	order by o.seq limit 1
) x`

/** `place`: where the message is in the order of its key. */
const PREDECESSOR = `
with place as materialized (
	select destination as to_destination, key as of_key, seq as at_seq from {s}.outbox where id = $1::uuid
)${before('outbox_dead', 'o.blocks and o.destination collate "C" = place.to_destination')}
union all${before('outbox', 'o.destination = place.to_destination')}`

/** Discarded messages are in the history and no longer listed as dead; `find` still returns them. */
function tablesOf(status: MessageStatus | undefined): readonly Table[] {
	if (status === undefined) return ['outbox', 'outbox_dead']
	if (status === 'dead') return ['outbox_dead']
	return status === 'sent' ? ['outbox_history'] : ['outbox']
}

/** Finds the position of a message. If it was deleted, its id remains, which starts with its time. */
const AFTER = `
select seq from {s}.outbox where id = $1::uuid union all select seq from {s}.outbox_dead where id = $1::uuid
union all select seq from {s}.outbox_history where id = $1::uuid limit 1`

export const messageOperations = (
	executor: PostgresExecutor,
): Pick<OutboxStore, 'find' | 'findPredecessor' | 'list'> => ({
	async find(id) {
		if (!isUuid(id)) return undefined
		const [row] = await executor.run<MessageRow>(FIND, [id])
		return row && toMessage(row)
	},
	async findPredecessor(id) {
		if (!isUuid(id)) return undefined
		const rows = await executor.run<MessageRow>(PREDECESSOR, [id])
		const row = rows.find(({ blocks }) => blocks) ?? rows[0]
		return row && toMessage(row)
	},
	async list(filter, limit, after) {
		// Starting over for an invalid id would make a caller page forever.
		if (after !== undefined && !isUuid(after)) return []
		const parameters = new Parameters()
		let pageOf = (_seq: string): string => 'true'
		if (after !== undefined) {
			const [position] = await executor.run<{ seq: Big }>(AFTER, [after])
			const start =
				position === undefined
					? parameters.add(after, 'uuid')
					: parameters.add(Number(position.seq), 'bigint')
			pageOf = (seq) => `${position === undefined ? 'id' : seq} > ${start}`
		}
		const max = parameters.add(limit, 'int')
		const parts = tablesOf(filter.status).map((table) => {
			const seq = seqOf(table, filter)
			return `(select ${SHARED}, ${REST[table]} from {s}.${table}
			where ${pageOf(seq)} and ${filterSql(table, filter, parameters)} order by ${seq} limit ${max})`
		})
		const sql = `select * from (${parts.join(' union all ')}) m order by seq limit ${max}`
		return (await executor.runOnce<MessageRow>(sql, parameters.values)).map(toMessage)
	},
})
