/** Events of webhooks, which are kept so that endpoints can get them again. */
import { isSqlClient } from '../../../sql/clients.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, textList, withNumbers } from '../../../sql/postgres-values.ts'
import { splitTopics } from '../decisions/endpoint.ts'
import type { EndpointStore, StoredEventRow } from '../endpoint-store.ts'
import { MAX_TIME } from '../stored-values.ts'
import { runnerFor } from './insert.ts'

const INSERT = `
insert into {s}.webhook_events (id, tenant, topic, key, payload, headers, created_at, expires_at)
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, clock.ms, least(clock.ms + $7::bigint, ${MAX_TIME})
from (select {now} as ms) clock`

const POSITION = `
select created_at as at from {s}.webhook_events where id = $1::uuid`

/** $2 exact topics, $3 the beginnings of patterns, $5 and $6 the start. */
const select = (start: string): string => `
select id::text as id, tenant, topic, key, payload, headers, created_at as "createdAt" from {s}.webhook_events
where tenant = $1::text and ${start} and (topic = any($2::text[]) or exists (
	select from unnest($3::text[]) as given(beginning) where starts_with(topic, beginning)
))
order by created_at, webhook_events.id limit $4::int`

/** One lower bound each: with two, PostgreSQL may start to read the index at the earlier one. */
const FIRST = select('created_at >= $5::bigint')
const NEXT = select('(created_at, id) > ($5::bigint, $6::uuid)')
/** After an event that was deleted: its id remains. */
const AFTER_DELETED = select('created_at >= $5::bigint and id > $6::uuid')

/** The time is a subquery, because a condition on an index cannot contain the clock itself. `deleted`: the rows. */
const DROP = `
with deleted as (
	delete from {s}.webhook_events where ctid = any(array(
		select ctid from {s}.webhook_events where expires_at <= (select {now})
		order by expires_at limit $1::int for update skip locked
	)) returning 1
)
select count(*) as count from deleted`

export const eventOperations = (
	executor: PostgresExecutor,
): Pick<EndpointStore, 'insertEvent' | 'events' | 'dropEvents'> => ({
	async insertEvent({ id, tenant, topic, key, payload, headers, keepForMs }, tx) {
		const run = runnerFor(executor, tx !== undefined && isSqlClient(tx) ? tx : undefined)
		const keepFor = Math.min(Math.ceil(keepForMs), MAX_TIME)
		await run(INSERT, [id, tenant, topic, key, payload, headers, keepFor])
	},
	async events({ tenant, topics, since }, limit, after) {
		// Starting over for an invalid id would make a caller page forever.
		if (after !== undefined && !isUuid(after)) return []
		const { exact, beginnings } = splitTopics(topics)
		const values = [tenant, textList(exact), textList(beginnings), limit]
		const run = async (sql: string, ...start: (string | number)[]) => {
			const rows = await executor.bounded.run<StoredEventRow>(sql, [...values, ...start])
			return rows.map((row) => withNumbers(row, ['createdAt']))
		}
		const from = Math.ceil(since)
		if (after === undefined) return run(FIRST, from)
		const [position] = await executor.bounded.run<{ readonly at: Big }>(POSITION, [after])
		if (position === undefined) return run(AFTER_DELETED, from, after)
		const at = Number(position.at)
		return at >= from ? run(NEXT, at, after) : run(FIRST, from)
	},
	async dropEvents(limit) {
		const [row] = await executor.bounded.run<{ readonly count: Big }>(DROP, [limit])
		return Number(row?.count)
	},
})
