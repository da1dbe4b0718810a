/**
 * Figures for people, at a price that does not grow with the queue: each is counted over at most so many rows, by an index, and says when
 * it stopped there. A queue of a million waiting messages is just when somebody looks every second.
 */
import type { Counted, DestinationCounts, StoreStats } from '../store.ts'
import type { Database, Session } from './connection.ts'
import { counted } from './dead-letters.ts'
import type { Big } from './rows.ts'

/** The last counts all that have had so many attempts or more. */
const MOST_ATTEMPTS = 10

const FORECAST_STEPS = 12
const FORECAST_STEP_MS = 300_000

/** More destinations than anybody looks at. */
const MOST_DESTINATIONS = 1_000

const skipScan = (name: string, table: string): string => `
${name} as (
	(select destination from {s}.${table} order by destination limit 1)
	union all
	select (select o.destination from {s}.${table} o where o.destination > x.destination order by o.destination limit 1)
	from ${name} x where x.destination is not null
)`

const NAMES = `${skipScan('queued', 'outbox')}, ${skipScan('died', 'outbox_dead')},
names as materialized (
	select destination from queued where destination is not null
	union select destination from died where destination is not null
	order by destination limit ${MOST_DESTINATIONS}
)`

/**
 * $1 is one more than is counted. What is in flight was due first, mostly, so it is looked for there and nowhere else: there is no index of
 * it, since that would have to be changed by every claim.
 */
const DESTINATIONS = `
with recursive n as materialized (select {now} as ms), ${NAMES}
select names.destination, (select ms from n) as now,
	first.looked, first.held, (select ms from n) - due.oldest as lag, due.count as due,
	(select count(*) from (select from {s}.outbox o
		where o.destination = names.destination and o.due_at > (select ms from n) limit $1::int) w) as waiting,
	(select o.due_at from {s}.outbox o where o.destination = names.destination and o.due_at > (select ms from n)
		order by o.due_at limit 1) - (select ms from n) as next_due,
	(select count(*) from (select from {s}.outbox_dead o where o.destination = names.destination limit $1::int) d) as dead
from names cross join lateral (
	select count(*) as looked, count(*) filter (where d.lease_until > (select ms from n)) as held from (
		select o.lease_until from {s}.outbox o
		where o.destination = names.destination and o.due_at <= (select ms from n)
		order by o.due_at, o.seq limit $1::int
	) d
) first cross join lateral (
	select count(*) as count, min(d.due_at) as oldest from (
		select o.due_at from {s}.outbox o
		where o.destination = names.destination and o.due_at <= (select ms from n)
			and (o.lease_until is null or o.lease_until <= (select ms from n))
		order by o.due_at, o.seq limit $1::int
	) d
) due
order by names.destination`

interface Row {
	readonly destination: string
	readonly now: Big
	readonly looked: Big
	readonly due: Big
	readonly held: Big
	readonly lag: Big | null
	readonly waiting: Big
	readonly next_due: Big | null
	readonly dead: Big
}

const ATTEMPTS = `
select least(attempts, ${MOST_ATTEMPTS}) as attempts, count(*) as count
from (select attempts from {s}.outbox limit $1::int) o group by 1`

const FORECAST = `
with recursive n as materialized (select {now} as ms), ${skipScan('queued', 'outbox')}
select step, sum(c.count) as count
from generate_series(0, ${FORECAST_STEPS - 1}) step cross join queued q cross join lateral (
	select count(*) as count from (
		select from {s}.outbox o where o.destination = q.destination
			and o.due_at > (select ms from n) + step * ${FORECAST_STEP_MS}
			and o.due_at <= (select ms from n) + (step + 1) * ${FORECAST_STEP_MS}
		limit $1::int
	) x
) c
where q.destination is not null group by step`

export async function stats(database: Database, limit: number): Promise<StoreStats> {
	const rows = await database.run<Row>(DESTINATIONS, [limit + 1])
	const now = rows[0]?.now ?? (await database.run<{ ms: Big }>('select {now} as ms'))[0]?.ms
	return {
		now: Number(now),
		destinations: rows.map((row) => countsOf(row, limit)),
		attempts: await attempts(database, limit),
		forecast: await forecast(database, limit),
	}
}

function countsOf(row: Row, limit: number): DestinationCounts {
	return {
		destination: row.destination,
		due: counted(Number(row.due), limit),
		inFlight: { count: Math.min(limit, Number(row.held)), isCapped: Number(row.looked) > limit },
		waiting: counted(Number(row.waiting), limit),
		dead: counted(Number(row.dead), limit),
		oldestLagMs: row.lag === null ? null : Math.max(0, Number(row.lag)),
		nextDueInMs: row.next_due === null ? null : Number(row.next_due),
	}
}

async function attempts(session: Session, limit: number): Promise<readonly number[]> {
	const counts = Array.from({ length: MOST_ATTEMPTS + 1 }, () => 0)
	for (const row of await session.run<{ attempts: Big; count: Big }>(ATTEMPTS, [limit])) {
		counts[Number(row.attempts)] = Number(row.count)
	}
	return counts
}

async function forecast(session: Session, limit: number): Promise<readonly Counted[]> {
	const counts = Array.from({ length: FORECAST_STEPS }, () => counted(0, limit))
	for (const row of await session.run<{ step: Big; count: Big }>(FORECAST, [limit + 1])) {
		counts[Number(row.step)] = counted(Number(row.count), limit)
	}
	return counts
}
