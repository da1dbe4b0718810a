/**
 * Who may use how many of the permits that all relays share. What one has is not given to another before its time is over or it
 * came down, so there are never more than `total`; and nobody is given more than a fair part, so that who has too many comes
 * down when it asks again. The sum must be of what was committed, hence two statements: a lock on the destination, then the look.
 */
import type { PermitRequest } from '../rows.ts'
import type { Database, Session } from './connection.ts'
import type { Big } from './rows.ts'

const LOCK = `
insert into {s}.outbox_destinations as d (destination) values ($1::text)
on conflict (destination) do update set destination = excluded.destination
returning {now} as ms`

const OTHERS = `
select owner, wanted, permits from {s}.outbox_permits
where destination = $1::text and owner <> $2::text and until > $3::bigint`

const SAVE = `
insert into {s}.outbox_permits (destination, owner, permits, wanted, until) values ($1::text, $2::text, $3::int, $4::int, $5::bigint)
on conflict (destination, owner) do update set permits = excluded.permits, wanted = excluded.wanted, until = excluded.until`

/** What somebody asked for. */
interface Wish {
	readonly owner: string
	readonly wanted: number
}

export function acquirePermits(database: Database, request: PermitRequest): Promise<number> {
	const { destination, owner, wanted, inUse, total, leaseMs } = request
	return database.transaction(async (session) => {
		const [locked] = await session.run<{ ms: Big }>(LOCK, [destination])
		const now = Number(locked?.ms)
		const others = await othersOf(session, destination, owner, now)
		const taken = others.reduce((sum, { permits }) => sum + permits, 0)
		const part = fairPart({ owner, wanted }, others, total)
		const permits = Math.max(0, Math.min(part, total - taken))
		// What is still being sent is in nobody else's reach, whatever this relay is told.
		await session.run(SAVE, [destination, owner, Math.max(permits, inUse), wanted, now + Math.ceil(leaseMs)])
		return permits
	})
}

async function othersOf(
	session: Session,
	destination: string,
	owner: string,
	now: number,
): Promise<readonly (Wish & { readonly permits: number })[]> {
	const rows = await session.run<{ owner: string; wanted: Big; permits: Big }>(OTHERS, [
		destination,
		owner,
		now,
	])
	return rows.map((row) => ({ owner: row.owner, wanted: Number(row.wanted), permits: Number(row.permits) }))
}

/** Whoever wants less than an equal part leaves the rest of it to the others. Whole permits that are left over go by name. */
export function fairPart(mine: Wish, others: readonly Wish[], total: number): number {
	let left = total
	let open = [mine, ...others].sort((a, b) => (a.owner < b.owner ? -1 : 1))
	for (;;) {
		const part = left / open.length
		const modest = open.filter(({ wanted }) => wanted <= part)
		if (modest.includes(mine)) return mine.wanted
		if (modest.length === 0) break
		left -= modest.reduce((sum, { wanted }) => sum + wanted, 0)
		open = open.filter((wish) => !modest.includes(wish))
	}
	const rest = left % open.length
	return Math.floor(left / open.length) + (open.indexOf(mine) < rest ? 1 : 0)
}

const LEAVE = `
with r as (delete from {s}.outbox_relays where id = $1::text)
delete from {s}.outbox_permits where owner = $1::text`

/** A relay is gone, with its permits. */
export async function leave(database: Database, owner: string): Promise<void> {
	await database.run(LEAVE, [owner])
}

const FORGET = `
with gone as (delete from {s}.outbox_relays where seen_at < {now} - $1::bigint returning id)
delete from {s}.outbox_permits where owner in (select id from gone) or until < {now} - $1::bigint`

/** Those that have not been heard of for so long, with their permits. */
export async function forget(database: Database, forgetAfterMs: number): Promise<void> {
	await database.run(FORGET, [Math.ceil(forgetAfterMs)])
}
