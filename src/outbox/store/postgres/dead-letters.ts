/**
 * Dead letters, by the group and by the filter. Moving one is a single statement that deletes it here and writes it there, so that there
 * is no moment at which it is nowhere.
 */
import type { DeadLetterCause } from '../../message/message.ts'
import { counted } from '../figures.ts'
import type { CappedCount, DeadGroup, MessageEdit, StoreFilter } from '../store.ts'
import type { Database } from './connection.ts'
import { FINGERPRINT, filterSql, Parameters } from './filter.ts'
import type { Big } from './rows.ts'
import { MESSAGE_COLUMNS } from './tables.ts'

interface GroupRow {
	readonly fingerprint: string
	readonly cause: DeadLetterCause
	readonly destination: string
	readonly error_type: string | null
	readonly error_message: string | null
	readonly count: Big
	readonly first_at: Big
	readonly last_at: Big
	readonly example: string
}

export async function deadGroups(
	database: Database,
	filter: StoreFilter,
	limit: number,
): Promise<readonly DeadGroup[]> {
	const parameters = new Parameters()
	const sql = `
		select g.*, e.error_type, e.error_message, e.id::text as example from (
			select ${FINGERPRINT} as fingerprint, cause, destination, count(*) as count, min(died_at) as first_at,
				max(died_at) as last_at, min(seq) as seq
			from {s}.outbox_dead where ${filterSql('outbox_dead', filter, parameters)}
			group by 1, 2, 3 order by count desc, last_at desc, seq limit ${parameters.add(limit, 'int')}
		) g join {s}.outbox_dead e on e.seq = g.seq
		order by g.count desc, g.last_at desc, g.seq`
	const rows = await database.ask<GroupRow>(sql, parameters.values)
	return rows.map((row) => ({
		fingerprint: row.fingerprint,
		cause: row.cause,
		destination: row.destination,
		errorType: row.error_type,
		errorMessage: row.error_message,
		count: Number(row.count),
		firstAt: Number(row.first_at),
		lastAt: Number(row.last_at),
		exampleId: row.example,
	}))
}

export async function countDead(
	database: Database,
	filter: StoreFilter,
	limit: number,
): Promise<CappedCount> {
	const parameters = new Parameters()
	const where = filterSql('outbox_dead', filter, parameters)
	const sql = `select count(*) as count from (
		select from {s}.outbox_dead where ${where} limit ${parameters.add(limit + 1, 'int')}) d`
	const [row] = await database.ask<{ count: Big }>(sql, parameters.values)
	return counted(Number(row?.count), limit)
}

/**
 * Those that match, locked, oldest first; what somebody else is moving at this moment is left to him. As an array, since a subquery
 * might be run again for each row, and would find others each time.
 */
const picked = (filter: StoreFilter, limit: number, parameters: Parameters): string => `
	delete from {s}.outbox_dead where id = any(array(
		select id from {s}.outbox_dead where ${filterSql('outbox_dead', filter, parameters)}
		order by seq limit ${parameters.add(limit, 'int')} for update skip locked
	)) returning *`

const idsInOrder = async (
	database: Database,
	sql: string,
	{ values }: Parameters,
): Promise<readonly string[]> => (await database.ask<{ id: string }>(sql, values)).map(({ id }) => id)

/** What is started anew by a replay, in the place of what it was. A dedupe key that another message took meanwhile is not taken back. */
const ANEW: Readonly<Record<string, string>> = {
	due_at: '{now}',
	attempts: '0',
	crashes: '0',
	delay_ms: 'null',
	dedupe_key: `case when not exists (select from {s}.outbox o where o.dedupe_key = d.dedupe_key) then d.dedupe_key end`,
}

export function replay(
	database: Database,
	filter: StoreFilter,
	limit: number,
	edit: MessageEdit = {},
): Promise<readonly string[]> {
	const parameters = new Parameters()
	const given: Record<string, string> = {}
	const { payload, headers, destination, expiresAt, maxRetries } = edit
	if (payload !== undefined) given['payload'] = parameters.add(payload, 'text')
	if (headers !== undefined) given['headers'] = parameters.add(headers, 'text')
	if (destination !== undefined) given['destination'] = parameters.add(destination, 'text')
	if (expiresAt !== undefined) given['expires_at'] = parameters.add(expiresAt, 'bigint')
	if (maxRetries !== undefined) given['max_retries'] = parameters.add(maxRetries, 'int')
	const values = MESSAGE_COLUMNS.map((column) => given[column] ?? ANEW[column] ?? `d.${column}`)
	const sql = `
		with d as (${picked(filter, limit, parameters)}), w as (
			insert into {s}.outbox (${MESSAGE_COLUMNS.join(', ')}, seq) select ${values.join(', ')}, d.seq from d
		)
		select id::text as id from d order by seq`
	return idsInOrder(database, sql, parameters)
}

export function discard(
	database: Database,
	filter: StoreFilter,
	limit: number,
	keepHistory: boolean,
): Promise<readonly string[]> {
	const parameters = new Parameters()
	const columns = MESSAGE_COLUMNS.join(', ')
	const kept = `, h as (
		insert into {s}.outbox_history (${columns}, seq, ended_at, cause) select ${columns}, seq, {now}, cause from d)`
	const sql = `
		with d as (${picked(filter, limit, parameters)})${keepHistory ? kept : ''}
		select id::text as id from d order by seq`
	return idsInOrder(database, sql, parameters)
}

/** Only what waits: those in flight and those that are due already are left as they are. */
export function retryNow(database: Database, filter: StoreFilter, limit: number): Promise<readonly string[]> {
	const parameters = new Parameters()
	const sql = `
		with n as materialized (select {now} as ms), d as (
			update {s}.outbox set due_at = (select ms from n) where id = any(array(
				select id from {s}.outbox
				where due_at > (select ms from n) and (lease_until is null or lease_until <= (select ms from n))
					${filter.ids === undefined ? 'and attempts > 0' : ''}
					and ${filterSql('outbox', filter, parameters)}
				order by seq limit ${parameters.add(limit, 'int')} for no key update skip locked
			)) returning id, seq
		)
		select id::text as id from d order by seq`
	return idsInOrder(database, sql, parameters)
}

const DROP_HISTORY = `
with w as (
	delete from {s}.outbox_history where id = any(array(
		select id from {s}.outbox_history where ended_at < {now} - $1::bigint
		order by ended_at limit $2::int for update skip locked
	)) returning 1
)
select count(*) as count from w`

export async function dropHistory(database: Database, olderThanMs: number, limit: number): Promise<number> {
	const [row] = await database.run<{ count: Big }>(DROP_HISTORY, [Math.ceil(olderThanMs), limit])
	return Number(row?.count)
}
