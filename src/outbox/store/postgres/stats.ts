/**
 * Figures for people, at a price that does not grow with the queue (figures.ts): each is counted over at most so many rows, by an index, and says
 * when it stopped there. A queue of a million waiting messages is just when somebody looks every second.
 */
import {
	counted,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	FULL_SHARES,
	forecastOf,
	LEAST_SHARE,
	MOST_ATTEMPTS,
	MOST_DESTINATIONS,
	noAttempts,
} from '../figures.ts'
import type { CappedCount, DestinationCounts, StoreStats } from '../store.ts'
import type { Database, Session, Value } from './connection.ts'
import type { Big } from './rows.ts'

/** One more than are told of, to know whether there are more. */
const MOST_NAMES = MOST_DESTINATIONS + 1

const skipScan = (name: string, table: string): string => `
${name} as (
	(select destination from {s}.${table} order by destination limit 1)
	union all
	select (select o.destination from {s}.${table} o where o.destination > x.destination order by o.destination limit 1)
	from ${name} x where x.destination is not null
)`

const ALL_NAMES = `${skipScan('queued', 'outbox')}, ${skipScan('died', 'outbox_dead')},
names as materialized (
	(select destination from queued where destination is not null limit ${MOST_NAMES})
	union (select destination from died where destination is not null limit ${MOST_NAMES})
	order by destination limit ${MOST_NAMES}
)`

const ONE_NAME = 'names as materialized (select $2::text as destination)'

/** $1 is the limit; each of the destinations is counted as far as its share of it. */
const SHARE = `share as materialized (
	select least($1::int, greatest(${LEAST_SHARE}, ${FULL_SHARES} * $1::bigint / greatest(1, least(${MOST_DESTINATIONS}, count(*)))))::int as rows
	from names
)`

const NOW = '(select ms from n)'
const MOST = '(select rows + 1 from share)'

/**
 * What is in flight was due first, mostly, so it is looked for there and nowhere else: there is no index of it, since that would
 * have to be changed by every claim.
 */
const countsBy = (names: string): string => `
with recursive n as materialized (select {now} as ms), ${names}, ${SHARE}
select names.destination, (select rows from share) as share,
	first.looked, first.held, ${NOW} - due.oldest as lag, due.count as due,
	(select count(*) from (select from {s}.outbox o
		where o.destination = names.destination and o.due_at > ${NOW} limit ${MOST}) w) as waiting,
	(select o.due_at from {s}.outbox o where o.destination = names.destination and o.due_at > ${NOW}
		order by o.due_at limit 1) - ${NOW} as next_due,
	(select count(*) from (select from {s}.outbox_dead o where o.destination = names.destination limit ${MOST}) d) as dead
from names cross join lateral (
	select count(*) as looked, count(*) filter (where d.lease_until > ${NOW}) as held from (
		select o.lease_until from {s}.outbox o
		where o.destination = names.destination and o.due_at <= ${NOW}
		order by o.due_at, o.seq limit ${MOST}
	) d
) first cross join lateral (
	select count(*) as count, min(d.due_at) as oldest from (
		select o.due_at from {s}.outbox o
		where o.destination = names.destination and o.due_at <= ${NOW}
			and (o.lease_until is null or o.lease_until <= ${NOW})
		order by o.due_at, o.seq limit ${MOST}
	) d
) due
order by names.destination`

interface Row {
	readonly destination: string
	readonly share: Big
	readonly looked: Big
	readonly due: Big
	readonly held: Big
	readonly lag: Big | null
	readonly waiting: Big
	readonly next_due: Big | null
	readonly dead: Big
}

const attemptsBy = (which: string): string => `
select least(attempts, ${MOST_ATTEMPTS}) as attempts, count(*) as count
from (select attempts from {s}.outbox ${which} limit $1::int) o group by 1`

const slotsBy = (names: string): string => `
with recursive n as materialized (select {now} as ms), ${names}, ${SHARE}
select step, sum(count) as count, bool_or(seen > ${FORECAST_STEPS} * (select rows from share) and step = last) as is_cut
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

const ALL = { counts: countsBy(ALL_NAMES), attempts: attemptsBy(''), slots: slotsBy(ALL_NAMES) }
const ONE = {
	counts: countsBy(ONE_NAME),
	attempts: attemptsBy('where destination = $2::text order by due_at'),
	slots: slotsBy(ONE_NAME),
}

export async function stats(database: Database, limit: number, destination?: string): Promise<StoreStats> {
	const sql = destination === undefined ? ALL : ONE
	const values = destination === undefined ? [limit] : [limit, destination]
	const rows = await database.run<Row>(sql.counts, values)
	return {
		now: await now(database),
		destinations: rows.slice(0, MOST_DESTINATIONS).map(countsOf),
		hasMoreDestinations: rows.length > MOST_DESTINATIONS,
		attempts: await attempts(database, sql.attempts, values),
		forecast: await forecast(database, sql.slots, values, limit),
	}
}

export async function now(session: Session): Promise<number> {
	const [row] = await session.run<{ ms: Big }>('select {now} as ms')
	return Number(row?.ms)
}

function countsOf(row: Row): DestinationCounts {
	const limit = Number(row.share)
	return {
		destination: row.destination,
		due: counted(Number(row.due), limit),
		inFlight: { count: Math.min(limit, Number(row.held)), isCapped: Number(row.looked) > limit },
		scheduled: counted(Number(row.waiting), limit),
		dead: counted(Number(row.dead), limit),
		oldestLagMs: row.lag === null ? null : Math.max(0, Number(row.lag)),
		nextDueInMs: row.next_due === null ? null : Number(row.next_due),
	}
}

async function attempts(session: Session, sql: string, values: readonly Value[]): Promise<readonly number[]> {
	const counts = noAttempts()
	for (const row of await session.run<{ attempts: Big; count: Big }>(sql, values)) {
		counts[Number(row.attempts)] = Number(row.count)
	}
	return counts
}

async function forecast(
	session: Session,
	sql: string,
	values: readonly Value[],
	limit: number,
): Promise<readonly CappedCount[]> {
	const rows = await session.run<{ step: Big; count: Big; is_cut: boolean }>(sql, values)
	const slots = rows.map((row) => ({
		step: Number(row.step),
		count: Number(row.count),
		isCut: row.is_cut,
	}))
	return forecastOf(slots, limit)
}
