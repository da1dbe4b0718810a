/**
 * Counts messages at a cost that does not grow with the queue (count-limits.ts): each count reads a bounded number of rows of an index and says if
 * it stopped there. A queue of a million messages is exactly when people refresh the statistics every second.
 */
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { type Big, withNumbers } from '../../../sql/postgres-values.ts'
import {
	cappedCount,
	emptyAttempts,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	type ForecastSlot,
	MAX_ATTEMPTS_COUNTED,
	MAX_DESTINATIONS,
	MIN_LIMIT,
	sumForecast,
	TOTAL_FACTOR,
} from '../count-limits.ts'
import type { DestinationCounts, Store } from '../store.ts'

/** One more than are counted, to know whether there are more. */
const MAX_NAMES = MAX_DESTINATIONS + 1

const skipScan = (name: string, table: string): string => `
${name} as (
	(select destination from {s}.${table} order by destination limit 1)
	union all
	select (select o.destination from {s}.${table} o where o.destination > x.destination order by o.destination limit 1)
	from ${name} x where x.destination is not null
)`

const ALL_NAMES = `${skipScan('queued', 'outbox')}, ${skipScan('died', 'outbox_dead')},
names as materialized (
	(select destination from queued where destination is not null limit ${MAX_NAMES})
	union (select destination from died where destination is not null limit ${MAX_NAMES})
	order by destination limit ${MAX_NAMES}
)`

const ONE_NAME = 'names as materialized (select $2::text as destination)'

/** `limitPerDestination` in SQL; $1 is the limit. */
const SHARE = `share as materialized (
	select least($1::int, greatest(${MIN_LIMIT}, ${TOTAL_FACTOR} * $1::bigint / greatest(1, least(${MAX_DESTINATIONS}, count(*)))))::int as rows
	from names
)`

const NOW = '(select ms from n)'
const MAX_ROWS = '(select rows + 1 from share)'

/** Messages in flight are usually the oldest due ones, so only those are read: an index of the leases would change with every claim. */
const countsSql = (names: string): string => `
with recursive n as materialized (select {now} as ms), ${names}, ${SHARE}
select names.destination, (select rows from share) as share,
	first.scanned, first.in_flight, ${NOW} - due.oldest as lag, due.count as due,
	(select count(*) from (select from {s}.outbox o
		where o.destination = names.destination and o.due_at > ${NOW} limit ${MAX_ROWS}) w) as scheduled,
	(select o.due_at from {s}.outbox o where o.destination = names.destination and o.due_at > ${NOW}
		order by o.due_at limit 1) - ${NOW} as next_due,
	(select count(*) from (select from {s}.outbox_dead o where o.destination = names.destination limit ${MAX_ROWS}) d) as dead
from names cross join lateral (
	select count(*) as scanned, count(*) filter (where d.lease_until > ${NOW}) as in_flight from (
		select o.lease_until from {s}.outbox o
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
) due
order by names.destination`

type Count = 'share' | 'scanned' | 'due' | 'in_flight' | 'scheduled' | 'dead'
type Row = Readonly<Record<Count, Big> & Record<'lag' | 'next_due', Big | null> & { destination: string }>

const attemptsSql = (which: string): string => `
select least(attempts, ${MAX_ATTEMPTS_COUNTED}) as attempts, count(*) as count
from (select attempts from {s}.outbox ${which} limit $1::int) o group by 1`

const slotsSql = (names: string): string => `
with recursive n as materialized (select {now} as ms), ${names}, ${SHARE}
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

const ALL = { counts: countsSql(ALL_NAMES), attempts: attemptsSql(''), slots: slotsSql(ALL_NAMES) }
const ONE = {
	counts: countsSql(ONE_NAME),
	attempts: attemptsSql('where destination = $2::text order by due_at'),
	slots: slotsSql(ONE_NAME),
}

export function statsOperations(executor: PostgresExecutor): Pick<Store, 'stats' | 'now'> {
	const now = async (): Promise<number> => {
		const [row] = await executor.run<{ ms: Big }>('select {now} as ms')
		return Number(row?.ms)
	}
	return {
		now,
		async stats(limit, destination) {
			const sql = destination === undefined ? ALL : ONE
			const values = destination === undefined ? [limit] : [limit, destination]
			const rows = await executor.run<Row>(sql.counts, values)
			const databaseNow = await now()
			const attempts = emptyAttempts()
			for (const row of await executor.run<{ attempts: Big; count: Big }>(sql.attempts, values))
				attempts[Number(row.attempts)] = Number(row.count)
			const slots = await executor.run<ForecastSlot>(sql.slots, values)
			return {
				now: databaseNow,
				destinations: rows.slice(0, MAX_DESTINATIONS).map(toCounts),
				hasMoreDestinations: rows.length > MAX_DESTINATIONS,
				attempts,
				forecast: sumForecast(
					slots.map((slot) => withNumbers(slot, ['step', 'count'])),
					limit,
				),
			}
		},
	}
}

function toCounts(row: Row): DestinationCounts {
	const limit = Number(row.share)
	return {
		destination: row.destination,
		due: cappedCount(Number(row.due), limit),
		inFlight: { count: Math.min(limit, Number(row.in_flight)), isCapped: Number(row.scanned) > limit },
		scheduled: cappedCount(Number(row.scheduled), limit),
		dead: cappedCount(Number(row.dead), limit),
		oldestLagMs: row.lag === null ? null : Math.max(0, Number(row.lag)),
		nextDueInMs: row.next_due === null ? null : Number(row.next_due),
	}
}
