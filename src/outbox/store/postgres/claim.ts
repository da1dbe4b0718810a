/** Claiming, and what a relay that has nothing to claim asks for. */
import type { ClaimedRow, ClaimRequest, ClaimResult, ClaimTarget } from '../rows.ts'
import type { DueDestinations } from '../store.ts'
import { claimSql, type LaneKind } from './claim-sql.ts'
import type { Database } from './connection.ts'
import { readGates } from './gate-sql.ts'
import { asJson, type Big, optional } from './rows.ts'

interface Claimed {
	readonly id: string | null
	readonly destination: string
	readonly topic: string
	readonly key: string | null
	readonly payload: string
	readonly headers: string | null
	readonly attempts: Big
	readonly max_retries: Big | null
	readonly delay_ms: Big | null
	readonly crashes: Big
	readonly created_at: Big
	readonly due_at: Big
	readonly expires_at: Big | null
	readonly seq: Big
}

const kindOf = (lane: ClaimTarget): LaneKind =>
	lane.keys !== undefined ? 'keys' : lane.isOrdered ? 'ordered' : 'plain'

/** Infinity means: whatever happened. */
const MOST_INT = 2 ** 31 - 1

const ALL_KINDS: readonly LaneKind[] = ['plain', 'ordered', 'keys']

export async function claim(database: Database, request: ClaimRequest): Promise<ClaimResult> {
	const { targets, poisonCandidates, poisonAfter } = request
	const asked = new Set(targets.map(kindOf))
	const sql = claimSql({
		kinds: targets.length === 0 ? ['plain'] : ALL_KINDS.filter((kind) => asked.has(kind)),
		poisonCandidates,
		hasCrashed: poisonAfter > 1,
	})
	const wanted = targets.map((lane) => ({
		destination: lane.destination,
		max_rows: lane.limit,
		since: Math.floor(lane.since),
		kind: kindOf(lane),
		keys: lane.keys,
		probe: lane.isProbe,
	}))
	const [head, ...rows] = await database.run<Claimed>(sql, [
		asJson(wanted),
		request.owner,
		Math.ceil(request.leaseMs),
		Math.min(poisonAfter, MOST_INT),
	])
	const now = Number(head?.due_at)
	return {
		now,
		rows: inOrder(rows, targets, now),
		circuits: readGates(head?.payload ?? null),
	}
}

/** They come as they lie in the table, which is nearly the order in which they are due. */
function inOrder(
	rows: readonly Claimed[],
	targets: readonly ClaimTarget[],
	now: number,
): readonly ClaimedRow[] {
	const places = new Map<string, number>()
	if (targets.length > 1)
		targets.forEach(({ destination }, at) => {
			if (!places.has(destination)) places.set(destination, at)
		})
	return rows
		.map((row) => ({
			row: claimedRow(row, now),
			place: places.get(row.destination) ?? 0,
			seq: Number(row.seq),
		}))
		.sort((a, b) => a.place - b.place || a.row.dueAt - b.row.dueAt || a.seq - b.seq)
		.map(({ row }) => row)
}

const claimedRow = (row: Claimed, claimedAt: number): ClaimedRow => ({
	id: row.id ?? '',
	destination: row.destination,
	topic: row.topic,
	key: row.key,
	payload: row.payload,
	headers: row.headers,
	attempt: Number(row.attempts),
	claimedAt,
	maxRetries: optional(row.max_retries),
	delayMs: optional(row.delay_ms),
	crashes: Number(row.crashes),
	createdAt: Number(row.created_at),
	dueAt: Number(row.due_at),
	expiresAt: optional(row.expires_at),
})

const NEXT_DUE = `
with n as materialized (select {now} as ms)
select min(x.due_at) - (select ms from n) as wait
from json_array_elements_text($1::text::json) as d(destination) cross join lateral (
	select o.due_at from {s}.outbox o
	where o.destination = d.destination and o.due_at > (select ms from n)
		and (o.lease_until is null or o.lease_until <= (select ms from n))
	order by o.due_at limit 1
) x`

export async function nextDueInMs(
	database: Database,
	destinations: readonly string[],
): Promise<number | undefined> {
	const [next] = await database.run<{ wait: Big | null }>(NEXT_DUE, [asJson(destinations)])
	const wait = next?.wait ?? null
	return wait === null ? undefined : Number(wait)
}

/** The first one after a name, with when its first message is due. */
const next = (after: string): string => `
	select o.destination, o.due_at from {s}.outbox o
	where o.destination > ${after} order by o.destination, o.due_at limit 1`

/** From one destination to the next by the index, however many messages each has, until $1 have something due. Nobody is called ''. */
const DESTINATIONS = `
with recursive n as materialized (select {now} as ms), d as (
	select x.destination, x.due_at, (x.due_at <= n.ms)::int as found
	from n cross join lateral (${next("coalesce($2::text, '')")}) x where $1::int > 0
	union all
	select x.destination, x.due_at, d.found + (x.due_at <= (select ms from n))::int
	from d cross join lateral (${next('d.destination')}) x where d.found < $1::int
)
select json_agg(destination order by found) filter (where due_at <= (select ms from n))::text as names,
	min(due_at) filter (where due_at > (select ms from n)) - (select ms from n) as wait
from d`

export async function destinations(
	database: Database,
	limit: number,
	after: string | undefined,
): Promise<DueDestinations> {
	const [found] = await database.run<{ names: string | null; wait: Big | null }>(DESTINATIONS, [
		limit,
		after ?? null,
	])
	const wait = found?.wait ?? null
	return {
		names: JSON.parse(found?.names ?? '[]') as string[],
		nextDueInMs: wait === null ? undefined : Number(wait),
	}
}
