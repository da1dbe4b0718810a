/**
 * What a relay asks besides claiming: which destinations have due messages, when the next message is due, whether
 * one can be claimed, and which messages it holds. Each question reads a bounded number of rows.
 */
import { type Big, MAX_INT } from '../../../sql/postgres-values.ts'
import { MAX_SEARCHED } from '../counting.ts'
import type { OutboxStore } from '../store.ts'
import type { Claiming } from './claim.ts'
import { claimableSql, MAX_WINDOW } from './claim-sql.ts'

/** `clock`: the time. */
const CLOCK = 'clock as materialized (select {now} as ms)'
const NOW = '(select ms from clock)'

const NEXT_DUE = `
with ${CLOCK}
select min(x.due_at) - ${NOW} as wait
from json_array_elements_text($1::text::json) as d(destination) cross join lateral (
	select o.due_at from {s}.outbox o
	where o.destination = d.destination and o.due_at > ${NOW} and (o.lease_until is null or o.lease_until <= ${NOW})
	order by o.due_at limit 1
) x`

/** The first destination after a name, with the due time of its first message. */
const nextAfter = (name: string): string => `
	select o.destination, o.due_at from {s}.outbox o
	where o.destination > ${name} order by o.destination, o.due_at limit 1`

/**
 * `jumped`: jumps from one destination to the next in the index until $1 have due messages. No destination has an
 * empty name.
 */
const DUE_DESTINATIONS = `
with recursive ${CLOCK}, jumped as (
	select x.destination, x.due_at, (x.due_at <= clock.ms)::int as found
	from clock cross join lateral (${nextAfter("coalesce($2::text, '')")}) x where $1::int > 0
	union all
	select x.destination, x.due_at, jumped.found + (x.due_at <= ${NOW})::int
	from jumped cross join lateral (${nextAfter('jumped.destination')}) x where jumped.found < $1::int
)
select json_agg(destination order by found) filter (where due_at <= ${NOW})::text as names,
	min(due_at) filter (where due_at > ${NOW}) - ${NOW} as wait
from jumped`

/** Most queues have a message to claim among the first. The second size is the largest window of a claim. */
const SEARCHED: readonly number[] = [100, MAX_WINDOW]

/** No index contains the owner, because every claim would have to change it. */
const CLAIMS_OF = `
with ${CLOCK}
select x.id::text as id, x.attempts, x.locked_at, x.seq
from json_array_elements_text($1::text::json) as d(destination) cross join lateral (
	select o.id, o.attempts, o.locked_by, o.locked_at, o.lease_until, o.seq from {s}.outbox o
	where o.destination = d.destination and o.due_at <= ${NOW}
	order by o.due_at, o.seq limit ${MAX_SEARCHED}
) x
where x.locked_by = $2::text and x.lease_until > ${NOW}`

const toWait = (value: Big | null | undefined): number | undefined =>
	value === null || value === undefined ? undefined : Number(value)

export const dueOperations = ({
	executor,
	bounds,
	timeoutMs,
}: Claiming): Pick<OutboxStore, 'nextDueInMs' | 'dueDestinations' | 'hasClaimable' | 'claimsOf'> => ({
	async nextDueInMs(destinations) {
		const [next] = await executor.run<{ wait: Big | null }>(NEXT_DUE, [JSON.stringify(destinations)])
		return toWait(next?.wait)
	},
	async dueDestinations(limit, after = '') {
		type Found = { names: string | null; wait: Big | null }
		const [found] = await executor.run<Found>(DUE_DESTINATIONS, [limit, after])
		return { names: JSON.parse(found?.names ?? '[]') as string[], nextDueInMs: toWait(found?.wait) }
	},
	async hasClaimable(destination, isOrdered, poisonAfter) {
		type Found = { found: boolean; is_full: boolean }
		const known = isOrdered ? bounds.of(destination) : undefined
		const sql = claimableSql(isOrdered, known !== undefined)
		for (const size of SEARCHED) {
			const values = [destination, Math.min(poisonAfter, MAX_INT), size, known ? JSON.stringify(known) : null]
			const [row] = await executor.run<Found>(sql, values, { timeoutMs, label: `due of ${destination}` })
			if (row?.found) return true
			if (!row?.is_full) return false
		}
		return true
	},
	async claimsOf(owner, destinations) {
		type Found = { id: string; attempts: Big; locked_at: Big; seq: Big }
		const limits = { timeoutMs, label: `claims of ${owner}` }
		const found = await executor.run<Found>(CLAIMS_OF, [JSON.stringify(destinations), owner], limits)
		return found.map(({ id, attempts, locked_at, seq }) => ({
			id,
			attempt: Number(attempts),
			claimedAt: Number(locked_at),
			sequence: Number(seq),
		}))
	},
})
