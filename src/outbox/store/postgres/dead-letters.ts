/**
 * Lists, replays and discards dead letters, and makes queued messages due or expire. Moving a message is one
 * statement that deletes it here and inserts it there, so that it always exists in one table.
 *
 * In all statements, `moved` are the messages that are changed, and `clock` is the time.
 */
import type { StatementRunner } from '../../../sql/bounded-executor.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, withNumbers } from '../../../sql/postgres-values.ts'
import { cappedCount } from '../counting.ts'
import type { AuditAction, AuditRow, OperatorChange, OperatorNote } from '../rows.ts'
import type {
	AuditStore,
	DeadLetterStore,
	MessageEdit,
	OutboxStore,
	StoreAuditFilter,
	StoreFilter,
} from '../store.ts'
import { editChanges, operatorChanges } from '../stored-values.ts'
import { deadGroups } from './dead-groups.ts'
import { filterSql, Parameters, seqOf } from './messages.ts'
import { MESSAGE_COLUMNS } from './schema.ts'

/**
 * Deletes matching dead letters, oldest first, and skips those that another transaction is moving. The ids
 * are an array, because a subquery could run again for each row and find others each time.
 */
const deleteMatching = (filter: StoreFilter, limit: number, parameters: Parameters): string => `
	delete from {s}.outbox_dead where id = any(array(
		select id from {s}.outbox_dead where ${filterSql('outbox_dead', filter, parameters)}
		order by seq limit ${parameters.add(limit, 'int')} for update skip locked
	)) returning *`

const NOW = '(select ms from clock)'

export const MOVED_IDS = `
		select id::text as id from moved order by seq`

/** Columns that a replay resets. */
export const RESET: Readonly<Record<string, string>> = {
	due_at: '{now}',
	attempts: '0',
	crashes: '0',
	delay_ms: 'null',
}

/**
 * Claims that run now compare the count: a message that returns to the queue appears before the messages that
 * they found as the first of their keys.
 */
export const countReplays = (destination = 'moved.destination'): string => `, counted as (
	insert into {s}.outbox_destinations as g (destination, replays)
	select r.destination, 1 from (select distinct ${destination} as destination from moved where moved.key is not null) r
	order by r.destination
	on conflict (destination) do update set replays = g.replays + 1
)`

const EDIT_COLUMNS = {
	payload: ['payload', 'text'],
	headers: ['headers', 'text'],
	destination: ['destination', 'text'],
	expiresAt: ['expires_at', 'bigint'],
	maxRetries: ['max_retries', 'int'],
} as const satisfies Record<keyof MessageEdit, readonly [string, string]>

/** Returns a part of the statement that changes the messages in `moved`. `audited`: their audit records. */
export function auditSql(
	action: AuditAction,
	{ by, reason }: OperatorNote,
	changes: string | null,
	parameters: Parameters,
	cause = 'cause',
	content = 'payload, headers',
): string {
	const values = [by, reason, action, changes].map((value) => parameters.add(value, 'text'))
	return `, audited as (
		insert into {s}.outbox_audit (done_at, done_by, reason, action, changes, destination, message_id, topic, key, cause, payload, headers)
		select {now}, ${values.join(', ')}, destination, id, topic, key, ${cause}, ${content} from moved order by seq
	)`
}

export const AUDIT_CHANGE = `
insert into {s}.outbox_audit (done_at, done_by, reason, action, changes, destination)
values ($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text)`

/** Runs in the transaction of the change. */
export async function auditChange(
	executor: StatementRunner,
	change: OperatorChange,
	now: number,
): Promise<void> {
	const { by, reason, action, destination } = change
	await executor.run(AUDIT_CHANGE, [now, by, reason, action, operatorChanges(change), destination])
}

const AUDIT_CONDITIONS = {
	action: ['action =', 'text'],
	destination: ['destination =', 'text'],
	by: ['done_by =', 'text'],
	messageId: ['message_id =', 'uuid'],
	since: ['done_at >=', 'bigint'],
	until: ['done_at <', 'bigint'],
} as const satisfies Record<keyof StoreAuditFilter, readonly [string, string]>

/**
 * Deletes the oldest rows of a table, a limited number at a time. The column `id` identifies a row. The time is a
 * subquery, because a condition on an index cannot contain the clock itself. `deleted`: the rows.
 */
const dropSql = (table: string, id: string, time: string): string => `
with deleted as (
	delete from {s}.${table} where ${id} = any(array(
		select ${id} from {s}.${table} where ${time} < (select {now} - $1::bigint)
		order by ${time} limit $2::int for update skip locked
	)) returning 1
)
select count(*) as count from deleted`

const DROP_AUDIT = dropSql('outbox_audit', 'seq', 'done_at')
const DROP_HISTORY = dropSql('outbox_history', 'id', 'ended_at')

export function deadLetterOperations(
	executor: PostgresExecutor,
): DeadLetterStore & AuditStore & Pick<OutboxStore, 'retryNow' | 'expire' | 'dropHistory'> {
	const runForIds = async (sql: string, { values }: Parameters): Promise<readonly string[]> =>
		(await executor.runOnce<{ id: string }>(sql, values)).map(({ id }) => id)
	return {
		deadGroups: (filter, limit) => deadGroups(executor, filter, limit),
		async countDead(filter, limit) {
			const parameters = new Parameters()
			const where = filterSql('outbox_dead', filter, parameters, false)
			const sql = `select count(*) as count from (
		select from {s}.outbox_dead where ${where} limit ${parameters.add(limit + 1, 'int')}) d`
			const [row] = await executor.runOnce<{ count: Big }>(sql, parameters.values)
			return cappedCount(Number(row?.count), limit)
		},
		async replay(filter, limit, operator, edit = {}) {
			const parameters = new Parameters()
			const edited: Record<string, string> = {}
			for (const [name, [column, type]] of Object.entries(EDIT_COLUMNS)) {
				const value = edit[name as keyof MessageEdit]
				if (value !== undefined) edited[column] = parameters.add(value, type)
			}
			const values = MESSAGE_COLUMNS.map((column) => edited[column] ?? RESET[column] ?? `moved.${column}`)
			const changes = editChanges(edit)
			const counted = countReplays(edited['destination'])
			const audit = auditSql(changes === null ? 'replay' : 'edit', operator, changes, parameters)
			const sql = `
		with moved as (${deleteMatching(filter, limit, parameters)}), inserted as (
			insert into {s}.outbox (${MESSAGE_COLUMNS.join(', ')}, seq, replayed)
			select ${values.join(', ')}, moved.seq, true from moved
		)${counted}${audit}${MOVED_IDS}`
			return runForIds(sql, parameters)
		},
		async discard(filter, limit, operator, keepHistory) {
			const parameters = new Parameters()
			const columns = MESSAGE_COLUMNS.join(', ')
			const history = `, kept as (
		insert into {s}.outbox_history (${columns}, seq, ended_at, cause) select ${columns}, seq, {now}, cause from moved)`
			const moved = deleteMatching(filter, limit, parameters)
			const audit = auditSql('discard', operator, null, parameters)
			const sql = `
		with moved as (${moved})${audit}${keepHistory ? history : ''}${MOVED_IDS}`
			return runForIds(sql, parameters)
		},
		async retryNow(filter, limit, maxAttempts, operator) {
			const parameters = new Parameters()
			const audit = operator ? auditSql('retry', operator, null, parameters, 'null', 'null, null') : ''
			const sql = `
		with clock as materialized (select {now} as ms), moved as (
			update {s}.outbox set due_at = ${NOW} where id = any(array(
				select id from {s}.outbox
				where due_at > ${NOW} and (lease_until is null or lease_until <= ${NOW})
					${filter.ids === undefined ? 'and attempts > 0' : ''}
					${maxAttempts === undefined ? '' : `and attempts <= ${parameters.add(maxAttempts, 'bigint')}`}
					and ${filterSql('outbox', filter, parameters)}
				order by ${seqOf('outbox', filter)} limit ${parameters.add(limit, 'int')} for no key update skip locked
			)) returning *
		)${audit}${MOVED_IDS}`
			return runForIds(sql, parameters)
		},
		async expire(filter, limit, operator) {
			const parameters = new Parameters()
			const sql = `
		with clock as materialized (select {now} as ms), moved as (
			update {s}.outbox set expires_at = ${NOW}, due_at = least(due_at, ${NOW}) where id = any(array(
				select id from {s}.outbox
				where (expires_at is null or expires_at > ${NOW}) and (lease_until is null or lease_until <= ${NOW}) and ${filterSql('outbox', filter, parameters)}
				order by ${seqOf('outbox', filter)} limit ${parameters.add(limit, 'int')} for no key update skip locked
			)) returning *
		)${auditSql('expire', operator, null, parameters, 'null')}${MOVED_IDS}`
			return runForIds(sql, parameters)
		},
		async audit(filter, limit, before) {
			const parameters = new Parameters()
			const conditions = [`seq < ${parameters.add(before ?? Number.MAX_SAFE_INTEGER, 'bigint')}`]
			for (const [name, [condition, type]] of Object.entries(AUDIT_CONDITIONS)) {
				const value = filter[name as keyof StoreAuditFilter]
				if (value !== undefined) conditions.push(`${condition} ${parameters.add(value, type)}`)
			}
			const sql = `
		select seq, done_at as at, done_by as by, reason, action, destination, message_id::text as "messageId", topic, key, cause,
			payload, headers, changes
		from {s}.outbox_audit where ${conditions.join(' and ')} order by seq desc limit ${parameters.add(limit, 'int')}`
			const rows = await executor.runOnce<AuditRow>(sql, parameters.values)
			return rows.map((row) => withNumbers(row, ['seq', 'at']))
		},
		async dropAudit(olderThanMs, limit) {
			const [row] = await executor.run<{ count: Big }>(DROP_AUDIT, [Math.ceil(olderThanMs), limit])
			return Number(row?.count)
		},
		async dropHistory(olderThanMs, limit) {
			const [row] = await executor.bounded.run<{ count: Big }>(DROP_HISTORY, [Math.ceil(olderThanMs), limit])
			return Number(row?.count)
		},
	}
}
