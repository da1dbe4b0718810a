/**
 * Counts messages at a cost that does not grow with the queue (counting.ts): each count reads a bounded
 * number of rows of an index and says if it stopped there. A queue of a million messages is exactly when
 * people refresh the statistics every second.
 */
import type { PostgresExecutor, SqlExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, toNumberOrNull, withNumbers } from '../../../sql/postgres-values.ts'
import {
	BLOCKING_FAILURES,
	BLOCKING_WAIT_MS,
	type BlockingMessage,
	countAttempts,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	type ForecastSlot,
	type FoundCounts,
	limitPerDestination,
	MAX_ATTEMPTS_COUNTED,
	MAX_BEHIND,
	MAX_BLOCKING,
	MAX_DESTINATIONS,
	MAX_SAMPLE,
	MIN_LIMIT,
	type SampleRow,
	sumBlocked,
	sumForecast,
	TOTAL_FACTOR,
	toDestinationCounts,
} from '../counting.ts'
import type { OutboxStore } from '../store.ts'
import type { BlockedKeys, StoreStats } from '../store-stats.ts'

/** One more than are counted, to know whether there are more. */
const MAX_NAMES = MAX_DESTINATIONS + 1

const skipScan = (name: string, table: string): string => `
${name} as (
	(select destination from {s}.${table} order by destination limit 1)
	union all
	select (select o.destination from {s}.${table} o where o.destination > x.destination order by o.destination limit 1)
	from ${name} x where x.destination is not null
)`

/** `queued`, `died`: jump from one destination to the next in an index. `names`: the destinations of both. */
const ALL_NAMES = `${skipScan('queued', 'outbox')}, ${skipScan('died', 'outbox_dead')},
names as materialized (
	(select destination from queued where destination is not null limit ${MAX_NAMES})
	union (select destination from died where destination is not null limit ${MAX_NAMES})
	order by destination limit ${MAX_NAMES}
)`

const ONE_NAME = 'names as materialized (select $2::text as destination)'

/** `limitPerDestination` in SQL, for the rows of `table`. */
const shareSql = (limit: string, table: string): string =>
	`select least(${limit}, greatest(${MIN_LIMIT}, ${TOTAL_FACTOR} * ${limit}::bigint / greatest(1, count(*))))::int as rows from ${table}`

/** `share`: how far each destination of ALL_NAMES or ONE_NAME is counted; $1 is the limit. */
const SHARE = `share as materialized (${shareSql('$1::int', `(select from names limit ${MAX_DESTINATIONS}) counted`)})`

const NOW = '(select ms from clock)'

/** When a message whose due time has moved was first due: the expression of the index. */
const FIRST_DUE_AT = 'o.created_at + o.first_due_after_ms'

const MAX_ROWS = '(select rows + 1 from share)'

/** Messages in flight are usually the oldest due ones, so only those are read: an index of the leases would change with every claim. */
const countsSql = (names: string): string => `
with recursive clock as materialized (select {now} as ms), ${names}, ${SHARE}
select names.destination, (select rows from share) as share,
	first.scanned, first.in_flight, first.first_due, ${NOW} - due.oldest as lag, due.count as due,
	failing.count as failing, failed.first_due as failed_first_due, failed.max_attempts,
	(select count(*) from (select from {s}.outbox o
		where o.destination = names.destination and o.due_at > ${NOW} limit ${MAX_ROWS}) w) as scheduled,
	(select o.due_at from {s}.outbox o where o.destination = names.destination and o.due_at > ${NOW}
		order by o.due_at limit 1) - ${NOW} as next_due,
	(select count(*) from (select from {s}.outbox_dead o where o.destination = names.destination limit ${MAX_ROWS}) d) as dead
from names cross join lateral (
	select count(*) as scanned, count(*) filter (where d.lease_until > ${NOW}) as in_flight, min(d.due_at) as first_due from (
		select o.lease_until, o.due_at from {s}.outbox o
		where o.destination = names.destination and o.due_at <= ${NOW}
		order by o.due_at, o.seq limit ${MAX_ROWS}
	) d
) first cross join lateral (
	select count(*) as count, min(d.due_at) as oldest from (
		select o.due_at from {s}.outbox o
		where o.destination = names.destination and o.due_at <= ${NOW}
			and (o.lease_until is null or o.lease_until <= ${NOW})
		order by o.due_at, o.seq limit ${MAX_ROWS}
	) d
) due cross join lateral (
	select count(*) as count from (
		select from {s}.outbox o where o.destination = names.destination and o.first_due_after_ms is not null
		order by ${FIRST_DUE_AT} limit ${MAX_ROWS}
	) f
) failing cross join lateral (
	select min(f.first_due) as first_due, max(f.attempts) as max_attempts from (
		select o.attempts, ${FIRST_DUE_AT} as first_due from {s}.outbox o
		where o.destination = names.destination and o.first_due_after_ms is not null
		order by ${FIRST_DUE_AT} limit least(${MAX_ROWS}, ${MAX_SAMPLE})
	) f
) failed
order by names.destination`

type Count = 'share' | 'scanned' | 'due' | 'in_flight' | 'scheduled' | 'dead' | 'failing'
type Time = 'lag' | 'next_due' | 'first_due' | 'failed_first_due' | 'max_attempts'
type Row = Readonly<Record<Count, Big> & Record<Time, Big | null> & { destination: string }>

/** The planner does not see the limit: for a table that was never analyzed it would sort all messages of a destination instead of reading the index. */
const sampleSql = (which: string): string => `
select destination, least(attempts, ${MAX_ATTEMPTS_COUNTED}) as attempts, count(*) as count, max(attempts) as "maxAttempts",
	min(created_at) filter (where attempts > 0 and first_due_after_ms is null and due_at > {now}) as "firstDue",
	max(greatest(created_at, locked_at, last_attempt_at)) as latest
from (
	select destination, attempts, created_at, first_due_after_ms, due_at, locked_at, last_attempt_at
	from {s}.outbox ${which} limit (select $1::int)
) o group by 1, 2`

const SAMPLE_NUMBERS = ['attempts', 'count', 'maxAttempts', 'firstDue', 'latest'] as const

/** The next scheduled message of each destination, and the relays: a clock that was set back has not reached their times again. */
const latestSql = (names: string): string => `
with recursive clock as materialized (select {now} as ms), ${names}
select greatest(
	(select max(x.created_at) from names cross join lateral (
		select o.created_at from {s}.outbox o where o.destination = names.destination and o.due_at > ${NOW}
		order by o.due_at, o.seq limit least($1::int, ${MIN_LIMIT})
	) x),
	(select max(greatest(seen_at, started_at)) from {s}.outbox_relays)
) as latest, ${NOW} as ms`

const slotsSql = (names: string): string => `
with recursive clock as materialized (select {now} as ms), ${names}, ${SHARE}
select step, sum(count) as count, bool_or(seen > ${FORECAST_STEPS} * (select rows from share) and step = last) as "isCut"
from names cross join lateral (
	select c.*, sum(c.count) over () as seen, max(c.step) over () as last from (
		select (x.due_at - ${NOW} - 1) / ${FORECAST_STEP_MS} as step, count(*) as count from (
			select o.due_at from {s}.outbox o where o.destination = names.destination
				and o.due_at > ${NOW} and o.due_at <= ${NOW} + ${FORECAST_STEPS * FORECAST_STEP_MS}
			order by o.due_at limit (select rows * ${FORECAST_STEPS} + 1 from share)
		) x group by 1
	) c
) s
group by step`

/*
 * Keys whose messages wait for one message. Each key costs a jump through an index, and a count up to a limit
 * behind it.
 */

/** `front`: the blocking messages. `share`: how many messages are counted behind each. */
const COUNT_BEHIND = `
share as materialized (${shareSql(`least($1::int, ${MAX_BEHIND})`, 'front')})
select front.destination, front.key, front.id::text as id, front.since, (select rows from share) as "limit", (
	select count(*) from (
		select from {s}.outbox o where o.destination = front.destination and o.key = front.key and o.seq > front.seq
		limit (select rows + 1 from share)
	) w
) as behind
from front order by front.destination collate "C", front.key`

/** The index has this collation. */
const DESTINATION = 'd.destination collate "C"'

/** `found`: jumps from one blocked key to the next in the index. `keys`: the first of them. */
const behindDeadSql = (where: string): string => `
with recursive found as (
	(select d.destination, d.key from {s}.outbox_dead d where d.blocks${where} order by ${DESTINATION}, d.key limit 1)
	union all
	select next.destination, next.key from found f cross join lateral (
		select d.destination, d.key from {s}.outbox_dead d
		where d.blocks and (${DESTINATION}, d.key) > (f.destination, f.key)${where}
		order by ${DESTINATION}, d.key limit 1
	) next
),
keys as materialized (select destination, key from found limit ${MAX_BLOCKING + 1}),
front as materialized (
	select keys.destination, keys.key, first.id, first.seq, first.died_at as since from keys cross join lateral (
		select d.id, d.seq, d.died_at from {s}.outbox_dead d
		where d.blocks and ${DESTINATION} = keys.destination and d.key = keys.key order by d.seq limit 1
	) first
),${COUNT_BEHIND}`

/** A claim counts its attempt before the outcome is known. */
const FAILURES = 'f.attempts - (f.locked_by is not null)::int'

/** `checked`: how many of the oldest failed messages of each destination are read. */
const behindRetrySql = (names: string): string => `
with recursive clock as materialized (select {now} as ms), ${names},
checked as materialized (${shareSql(`least($1::int, ${MAX_BLOCKING})`, 'names')}),
front as materialized (
	select f.destination, f.key, f.id, f.seq, f.since from names cross join lateral (
		select o.*, ${FIRST_DUE_AT} as since from {s}.outbox o
		where o.destination = names.destination and o.first_due_after_ms is not null
		order by ${FIRST_DUE_AT} limit (select rows from checked)
	) f
	where f.key is not null
		and (${FAILURES} >= ${BLOCKING_FAILURES} or f.due_at >= ${NOW} + ${BLOCKING_WAIT_MS})
		and f.seq = (select e.seq from {s}.outbox e where e.destination = f.destination and e.key = f.key order by e.seq limit 1)
),${COUNT_BEHIND}`

const BLOCKED_OF_ALL = { dead: behindDeadSql(''), retry: behindRetrySql(ALL_NAMES) }
const BLOCKED_OF_ONE = {
	dead: behindDeadSql(` and ${DESTINATION} = $2::text`),
	retry: behindRetrySql(ONE_NAME),
}

type BlockingRow = BlockingMessage & { readonly limit: Big }

/** Blocked keys of any destination. */
interface BlockedLookup {
	behindDead(destination: string): BlockedKeys
	/** `isCut` if the destination has more failed messages than were checked. */
	behindRetry(destination: string, isCut: boolean): BlockedKeys
}

async function findBlocked(
	executor: SqlExecutor,
	now: number,
	limit: number,
	destination: string | undefined,
): Promise<BlockedLookup> {
	const sql = destination === undefined ? BLOCKED_OF_ALL : BLOCKED_OF_ONE
	const values = destination === undefined ? [limit] : [limit, destination]
	const read = async (text: string): Promise<readonly BlockingRow[]> =>
		(await executor.runOnce<BlockingRow>(text, values)).map((row) =>
			withNumbers(row, ['since', 'behind', 'limit']),
		)
	const found = await read(sql.dead)
	const dead = found.slice(0, MAX_BLOCKING)
	const retry = await read(sql.retry)
	const firstCut = found[MAX_BLOCKING]?.destination
	const sum = (rows: readonly BlockingRow[], name: string, isCut: boolean): BlockedKeys => {
		const own = rows.filter((row) => row.destination === name)
		return sumBlocked(own, Number(own[0]?.limit ?? 0), now, isCut)
	}
	return {
		behindDead: (name) => sum(dead, name, firstCut !== undefined && name >= firstCut),
		behindRetry: (name, isCut) => sum(retry, name, isCut),
	}
}

const ALL = {
	counts: countsSql(ALL_NAMES),
	sample: sampleSql(''),
	slots: slotsSql(ALL_NAMES),
	latest: latestSql(ALL_NAMES),
}
const ONE = {
	counts: countsSql(ONE_NAME),
	sample: sampleSql('where destination = $2::text order by due_at, seq'),
	slots: slotsSql(ONE_NAME),
	latest: latestSql(ONE_NAME),
}

export function statsOperations(executor: PostgresExecutor): Pick<OutboxStore, 'stats' | 'now'> {
	const now = async (): Promise<number> => {
		const [row] = await executor.run<{ ms: Big }>('select {now} as ms')
		return Number(row?.ms)
	}
	return {
		now,
		// The statements have enormous costs by the planner's estimate, for which PostgreSQL would compile them:
		// 85 % of the time.
		stats: (limit, destination) =>
			executor.transaction(async (transaction) => {
				await transaction.script('set local jit = off')
				return readStats(transaction, limit, destination)
			}),
	}
}

/** The statements are not prepared: behind a pooler, a prepared statement that is lost would end the transaction. */
async function readStats(
	executor: SqlExecutor,
	limit: number,
	destination: string | undefined,
): Promise<StoreStats> {
	const sql = destination === undefined ? ALL : ONE
	const values = destination === undefined ? [limit] : [limit, destination]
	const rows = await executor.runOnce<Row>(sql.counts, values)
	const sample = (await executor.runOnce<SampleRow>(sql.sample, values)).map((row) =>
		withNumbers(row, SAMPLE_NUMBERS),
	)
	const [clock] = await executor.runOnce<{ latest: Big | null; ms: Big }>(sql.latest, values)
	const databaseNow = Number(clock?.ms)
	const latest = Math.max(Number(clock?.latest ?? 0), ...sample.map((row) => row.latest))
	const checked = limitPerDestination(Math.min(limit, MAX_BLOCKING), rows.length)
	const blocked = await findBlocked(executor, databaseNow, limit, destination)
	const slots = await executor.runOnce<ForecastSlot>(sql.slots, values)
	return {
		now: databaseNow,
		destinations: rows.slice(0, MAX_DESTINATIONS).map((row) => {
			const counts = toFoundCounts(row)
			return {
				...toDestinationCounts(counts, databaseNow, sample),
				blockedByDead: blocked.behindDead(row.destination),
				blockedByRetry: blocked.behindRetry(row.destination, counts.failing > checked),
			}
		}),
		hasMoreDestinations: rows.length > MAX_DESTINATIONS,
		attempts: countAttempts(sample),
		forecast: sumForecast(
			slots.map((slot) => withNumbers(slot, ['step', 'count'])),
			limit,
		),
		clockBehindMs: Math.max(0, latest - databaseNow),
	}
}

const toFoundCounts = (row: Row): FoundCounts => ({
	destination: row.destination,
	limit: Number(row.share),
	due: Number(row.due),
	lagMs: toNumberOrNull(row.lag),
	scheduled: Number(row.scheduled),
	nextDueInMs: toNumberOrNull(row.next_due),
	scanned: Number(row.scanned),
	inFlight: Number(row.in_flight),
	firstDue: toNumberOrNull(row.first_due),
	failing: Number(row.failing),
	failedFirstDue: toNumberOrNull(row.failed_first_due),
	maxAttempts: toNumberOrNull(row.max_attempts),
	dead: Number(row.dead),
})
