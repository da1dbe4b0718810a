/** Events of webhooks, which are kept so that endpoints can get them again. */
import { isSqlClient } from '../../../sql/clients.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, textList, withNumbers } from '../../../sql/postgres-values.ts'
import { splitTopics } from '../decisions/endpoint.ts'
import type { EndpointStore, StoredEventRow } from '../endpoint-store.ts'
import { MAX_TIME } from '../stored-values.ts'
import { runnerFor } from './insert.ts'
import { Parameters } from './messages.ts'

const INSERT = `
insert into {s}.webhook_events (id, tenant, topic, key, payload, headers, created_at, expires_at)
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, clock.ms, least(clock.ms + $7::bigint, ${MAX_TIME})
from (select {now} as ms) clock`

/** Finds the position of an event. If it was deleted, its id remains. */
const POSITION = `
select created_at as at from {s}.webhook_events where id = $1::uuid`

/** \`deleted\`: the rows. */
const DROP = `
with deleted as (
	delete from {s}.webhook_events where ctid = any(array(
		select ctid from {s}.webhook_events where expires_at <= {now}
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
		const [position] = after === undefined ? [] : await executor.run<{ readonly at: Big }>(POSITION, [after])
		const { exact, beginnings } = splitTopics(topics)
		const parameters = new Parameters()
		const conditions = [
			`tenant = ${parameters.add(tenant, 'text')}`,
			`(topic = any(${parameters.add(textList(exact), 'text::text[]')}) or exists (
				select from unnest(${parameters.add(textList(beginnings), 'text::text[]')}) as given(beginning)
				where starts_with(topic, beginning)))`,
		]
		// One lower bound: with two, PostgreSQL may start to read the index at the earlier one.
		if (after !== undefined && Number(position?.at) >= since) {
			const at = parameters.add(Number(position?.at), 'bigint')
			conditions.push(`(created_at, id) > (${at}, ${parameters.add(after, 'uuid')})`)
		} else {
			conditions.push(`created_at >= ${parameters.add(Math.ceil(since), 'bigint')}`)
			if (after !== undefined && !position) conditions.push(`id > ${parameters.add(after, 'uuid')}`)
		}
		const sql = `
		select id::text as id, tenant, topic, key, payload, headers, created_at as "createdAt"
		from {s}.webhook_events where ${conditions.join(' and ')}
		order by created_at, webhook_events.id limit ${parameters.add(limit, 'int')}`
		const rows = await executor.runOnce<StoredEventRow>(sql, parameters.values)
		return rows.map((row) => withNumbers(row, ['createdAt']))
	},
	async dropEvents(limit) {
		const [row] = await executor.bounded.run<{ readonly count: Big }>(DROP, [limit])
		return Number(row?.count)
	},
})
