/** Finds one message or a page of messages in all tables, in enqueue order. */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, withNumbers } from '../../../sql/postgres-values.ts'
import type { MessageStatus } from '../../message/message.ts'
import type { StoredMessage } from '../rows.ts'
import type { OutboxStore } from '../store.ts'
import { type MessageRow, toStoredMessage } from '../stored-values.ts'
import { filterSql, Parameters, type Table } from './filter.ts'

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
select ${SHARED}, ${REST[table]} from q cross join lateral (
	select o.* from {s}.${table} o
	where ${which} and o.key = q.of_key and (o.key, o.seq) < (q.of_key, q.at_seq)
	order by o.seq limit 1
) x`

const PREDECESSOR = `
with q as materialized (
	select destination as to_destination, key as of_key, seq as at_seq from {s}.outbox where id = $1::uuid
)${before('outbox_dead', 'o.blocks and o.destination collate "C" = q.to_destination')}
union all${before('outbox', 'o.destination = q.to_destination')}`

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
		let page = 'true'
		if (after !== undefined) {
			const [position] = await executor.run<{ seq: Big }>(AFTER, [after])
			page =
				position === undefined
					? `id > ${parameters.add(after, 'uuid')}`
					: `seq > ${parameters.add(Number(position.seq), 'bigint')}`
		}
		const max = parameters.add(limit, 'int')
		const parts = tablesOf(filter.status).map(
			(table) => `(select ${SHARED}, ${REST[table]} from {s}.${table}
			where ${page} and ${filterSql(table, filter, parameters)} order by seq limit ${max})`,
		)
		const sql = `select * from (${parts.join(' union all ')}) m order by seq limit ${max}`
		return (await executor.runOnce<MessageRow>(sql, parameters.values)).map(toMessage)
	},
})
