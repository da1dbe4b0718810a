/**
 * Endpoints of webhooks. `webhook_subscriptions` has a row for each topic of each enabled endpoint, so that an
 * event finds its endpoints in one index, however many endpoints a tenant and other tenants have.
 *
 * Changes are rare, so they are a transaction of several statements: the endpoint is locked first, so that two
 * changes of it never interleave, and the later statements see what the earlier change has written. Statements
 * with texts of users have parameters: a bounded statement would show secrets in `pg_stat_activity`.
 */
import { isSqlClient } from '../../../sql/clients.ts'
import type { PostgresExecutor, SqlExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, isUuid, textList, toNumberOrNull, withNumbers } from '../../../sql/postgres-values.ts'
import {
	applyEndpointChange,
	endpointChanges,
	endpointDestination,
	subscribedTopics,
} from '../decisions/endpoint.ts'
import type { EndpointRow, EndpointRowFilter, EndpointStore } from '../endpoint-store.ts'
import type { EndpointAction, OperatorNote } from '../rows.ts'
import { AUDIT_CHANGE } from './dead-letters.ts'
import { runnerFor } from './insert.ts'
import { Parameters } from './messages.ts'

/** Topics are JSON, because not every client parses arrays. */
const COLUMNS = `id::text as id, tenant, url, array_to_json(topics)::text as topics, description, secrets, version,
	disabled_reason as "disabledReason", disabled_at as "disabledAt", failing_since as "failingSince", failures,
	created_at as "createdAt"`

const NUMBERS = ['version', 'disabledAt', 'failingSince', 'failures', 'createdAt'] as const

type StoredEndpoint = Omit<EndpointRow, 'topics'> & { readonly topics: string }

const toEndpoint = (row: StoredEndpoint): EndpointRow => ({
	...withNumbers(row, NUMBERS),
	topics: JSON.parse(row.topics),
})

/** `created`: the endpoint. */
const INSERT = `
with created as (
	insert into {s}.webhook_endpoints (id, tenant, url, topics, description, secrets, created_at)
	values ($1::uuid, $2::text, $3::text, $4::text[], $5::text, $6::text, {now}) returning *
), subscribed as (
	insert into {s}.webhook_subscriptions (tenant, topic, endpoint_id)
	select created.tenant, given.topic, created.id from created cross join unnest(created.topics) as given(topic)
), audited as (
	insert into {s}.outbox_audit (done_at, done_by, reason, action, changes, destination)
	select created_at, $7::text, $8::text, 'create-endpoint', $9::text, $10::text from created
)
select ${COLUMNS} from created`

const FIND = `
select ${COLUMNS} from {s}.webhook_endpoints where id = $1::uuid`

const LOCK = `
select ${COLUMNS}, {now} as now from {s}.webhook_endpoints where id = $1::uuid for update`

const SAVE = `
update {s}.webhook_endpoints set url = $2::text, topics = $3::text[], description = $4::text, secrets = $5::text,
	version = $6::bigint, disabled_reason = $7::text, disabled_at = $8::bigint, failing_since = $9::bigint, failures = $10::bigint
where id = $1::uuid`

const DELETE = `
delete from {s}.webhook_endpoints where id = $1::uuid`

const SUBSCRIBE = `
insert into {s}.webhook_subscriptions (tenant, topic, endpoint_id)
select $1::text, topic, $3::uuid from unnest($2::text[]) as given(topic)`

const UNSUBSCRIBE = `
delete from {s}.webhook_subscriptions where tenant = $1::text and topic = any($2::text[]) and endpoint_id = $3::uuid`

/** One text instead of a row per endpoint, which a client reads several times slower. */
const MATCHING = `
select string_agg(id::text, ',' order by id) as ids from (
	select distinct endpoint_id as id from {s}.webhook_subscriptions where tenant = $1::text and topic = any($2::text[])
) endpoints`

/** Writes a row also while it is disabled, because only a written row is certainly the latest one. */
const RECORD_FAILURE = `
update {s}.webhook_endpoints set
	failures = failures + case when disabled_reason is null then 1 else 0 end,
	failing_since = case when disabled_reason is null then coalesce(failing_since, {now}) else failing_since end
where id = $1::uuid returning ${COLUMNS}`

const RECORD_SUCCESS = `
with before as materialized (
	select * from {s}.webhook_endpoints where id = $1::uuid and (failing_since is not null or failures > 0) for update
), saved as (
	update {s}.webhook_endpoints set failing_since = null, failures = 0, version = version + 1
	where id = $1::uuid and exists (select from before)
)
select ${COLUMNS} from before`

const IS_FAILING = 'disabled_reason is null and failing_since is not null'

const disabledBecause = (reason: string): string =>
	`count(*) filter (where disabled_reason = '${reason}') as ${reason}`

const STATS = `
select count(*) filter (where disabled_reason is null) as enabled, ${disabledBecause('operator')}, ${disabledBecause('failing')},
	${disabledBecause('gone')}, count(*) filter (where ${IS_FAILING}) as "failingNow",
	min(failing_since) filter (where ${IS_FAILING}) as "failingSince"
from {s}.webhook_endpoints`

interface StatsRow {
	readonly enabled: Big
	readonly operator: Big
	readonly failing: Big
	readonly gone: Big
	readonly failingNow: Big
	readonly failingSince: Big | null
}

function conditionsOf({ tenant, topic, isEnabled, isFailing }: EndpointRowFilter, parameters: Parameters) {
	const conditions: string[] = []
	if (tenant !== undefined) conditions.push(`tenant = ${parameters.add(tenant, 'text')}`)
	if (topic !== undefined) conditions.push(`${parameters.add(topic, 'text')} = any(topics)`)
	if (isEnabled !== undefined) conditions.push(`disabled_reason is ${isEnabled ? '' : 'not '}null`)
	if (isFailing) conditions.push(IS_FAILING)
	return conditions
}

async function subscribe(executor: SqlExecutor, endpoint: EndpointRow): Promise<void> {
	const topics = subscribedTopics(endpoint)
	if (topics.length > 0) await executor.run(SUBSCRIBE, [endpoint.tenant, textList(topics), endpoint.id])
}

async function unsubscribe(executor: SqlExecutor, endpoint: EndpointRow): Promise<void> {
	const topics = subscribedTopics(endpoint)
	if (topics.length > 0) await executor.run(UNSUBSCRIBE, [endpoint.tenant, textList(topics), endpoint.id])
}

/** Runs in the transaction of the change. */
const audit = (
	executor: SqlExecutor,
	id: string,
	action: EndpointAction,
	{ by, reason }: OperatorNote,
	changes: string | null,
	now: number,
): Promise<readonly unknown[]> =>
	executor.run(AUDIT_CHANGE, [now, by, reason, action, changes, endpointDestination(id)])

/** Returns the endpoint and the time. No other transaction changes the endpoint until this one ends. */
async function lock(
	executor: SqlExecutor,
	id: string,
): Promise<{ readonly endpoint: EndpointRow; readonly now: number } | undefined> {
	const [found] = await executor.run<StoredEndpoint & { readonly now: Big }>(LOCK, [id])
	if (found === undefined) return undefined
	const { now, ...row } = found
	return { endpoint: toEndpoint(row), now: Number(now) }
}

async function save(executor: SqlExecutor, before: EndpointRow, after: EndpointRow): Promise<void> {
	const { id, url, topics, description, secrets, version } = after
	const { disabledReason, disabledAt, failingSince, failures } = after
	const texts = [id, url, textList(topics), description, secrets]
	await executor.run(SAVE, [...texts, version, disabledReason, disabledAt, failingSince, failures])
	const isSame = JSON.stringify(subscribedTopics(after)) === JSON.stringify(subscribedTopics(before))
	if (isSame) return
	await unsubscribe(executor, before)
	await subscribe(executor, after)
}

export const endpointOperations = (
	executor: PostgresExecutor,
): Omit<EndpointStore, 'insertEvent' | 'events' | 'dropEvents'> => ({
	async insert(row, { by, reason }) {
		const { id, tenant, url, topics, description, secrets } = row
		const values = [id, tenant, url, textList(topics), description, secrets]
		const note = [by, reason, endpointChanges(row), endpointDestination(id)]
		const [inserted] = await executor.run<StoredEndpoint>(INSERT, [...values, ...note])
		return toEndpoint(inserted as StoredEndpoint)
	},
	async find(id) {
		if (!isUuid(id)) return undefined
		const [row] = await executor.bounded.run<StoredEndpoint>(FIND, [id])
		return row && toEndpoint(row)
	},
	async list(filter, limit, after) {
		// Starting over for an invalid id would make a caller page forever.
		if (after !== undefined && !isUuid(after)) return []
		const parameters = new Parameters()
		const conditions = conditionsOf(filter, parameters)
		if (after !== undefined) conditions.push(`id > ${parameters.add(after, 'uuid')}`)
		const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
		const sql = `
		select ${COLUMNS} from {s}.webhook_endpoints ${where}
		order by webhook_endpoints.id limit ${parameters.add(limit, 'int')}`
		return (await executor.runOnce<StoredEndpoint>(sql, parameters.values)).map(toEndpoint)
	},
	async change(id, change, operator) {
		if (!isUuid(id)) return undefined
		return executor.transaction(async (transaction) => {
			const locked = await lock(transaction, id)
			if (locked === undefined) return undefined
			const { endpoint: before, now } = locked
			const after = applyEndpointChange(before, change, now)
			if (after === undefined) return undefined
			await save(transaction, before, after)
			await audit(transaction, before.id, change.action, operator, endpointChanges(after, before), now)
			return after
		})
	},
	async delete(id, operator) {
		if (!isUuid(id)) return false
		return executor.transaction(async (transaction) => {
			const locked = await lock(transaction, id)
			if (locked === undefined) return false
			const { endpoint, now } = locked
			await unsubscribe(transaction, endpoint)
			await transaction.run(DELETE, [id])
			await audit(transaction, endpoint.id, 'delete-endpoint', operator, endpointChanges(endpoint), now)
			return true
		})
	},
	async matching(tenant, topics, tx) {
		const run = runnerFor(executor, tx !== undefined && isSqlClient(tx) ? tx : undefined)
		const [found] = await run<{ readonly ids: string | null }>(MATCHING, [tenant, textList(topics)])
		return found?.ids?.split(',') ?? []
	},
	async recordFailure(id) {
		if (!isUuid(id)) return undefined
		const [row] = await executor.bounded.run<StoredEndpoint>(RECORD_FAILURE, [id])
		return row && toEndpoint(row)
	},
	async recordSuccess(id) {
		if (!isUuid(id)) return undefined
		const [row] = await executor.bounded.run<StoredEndpoint>(RECORD_SUCCESS, [id])
		return row && toEndpoint(row)
	},
	async stats() {
		const [row] = await executor.run<StatsRow>(STATS)
		return {
			enabled: Number(row?.enabled),
			disabled: {
				operator: Number(row?.operator),
				failing: Number(row?.failing),
				gone: Number(row?.gone),
			},
			failing: Number(row?.failingNow),
			failingSince: toNumberOrNull(row?.failingSince ?? null),
		}
	},
})
