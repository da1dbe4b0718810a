/** Finds destinations with due messages and the next due time, for a relay that has nothing to claim. */
import type { BoundedExecutor } from '../../../sql/bounded-executor.ts'
import type { Big } from '../../../sql/postgres-values.ts'
import type { OutboxStore } from '../store.ts'

const NEXT_DUE = `
with n as materialized (select {now} as ms)
select min(x.due_at) - (select ms from n) as wait
from json_array_elements_text($1::text::json) as d(destination) cross join lateral (
	select o.due_at from {s}.outbox o
	where o.destination = d.destination and o.due_at > (select ms from n)
		and (o.lease_until is null or o.lease_until <= (select ms from n))
	order by o.due_at limit 1
) x`

/** The first destination after a name, with the due time of its first message. */
const nextAfter = (name: string): string => `
	select o.destination, o.due_at from {s}.outbox o
	where o.destination > ${name} order by o.destination, o.due_at limit 1`

/** Jumps from one destination to the next in the index until $1 have due messages. No destination has an empty name. */
const DUE_DESTINATIONS = `
with recursive n as materialized (select {now} as ms), d as (
	select x.destination, x.due_at, (x.due_at <= n.ms)::int as found
	from n cross join lateral (${nextAfter("coalesce($2::text, '')")}) x where $1::int > 0
	union all
	select x.destination, x.due_at, d.found + (x.due_at <= (select ms from n))::int
	from d cross join lateral (${nextAfter('d.destination')}) x where d.found < $1::int
)
select json_agg(destination order by found) filter (where due_at <= (select ms from n))::text as names,
	min(due_at) filter (where due_at > (select ms from n)) - (select ms from n) as wait
from d`

const toWait = (value: Big | null | undefined): number | undefined =>
	value === null || value === undefined ? undefined : Number(value)

export const scheduleOperations = (
	executor: BoundedExecutor,
): Pick<OutboxStore, 'nextDueInMs' | 'dueDestinations'> => ({
	async nextDueInMs(destinations) {
		const [next] = await executor.run<{ wait: Big | null }>(NEXT_DUE, [JSON.stringify(destinations)])
		return toWait(next?.wait)
	},
	async dueDestinations(limit, after = '') {
		type Found = { names: string | null; wait: Big | null }
		const [found] = await executor.run<Found>(DUE_DESTINATIONS, [limit, after])
		return { names: JSON.parse(found?.names ?? '[]') as string[], nextDueInMs: toWait(found?.wait) }
	},
})
