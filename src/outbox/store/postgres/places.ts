/**
 * Who may use how many of the places that all relays share. What one has is not given to another before its time is over or it
 * came down, so there are never more than `total`; and nobody is given more than a fair part, so that who has too many comes
 * down when it asks again. The sum must be of what was committed, hence two statements: a lock on the destination, then the look.
 */
import type { PlacesRequest } from '../rows.ts'
import type { Database, Session } from './connection.ts'
import type { Big } from './rows.ts'

const LOCK = `
insert into {s}.outbox_destinations as d (destination) values ($1::text)
on conflict (destination) do update set destination = excluded.destination
returning {now} as ms`

const OTHERS = `
select owner, want, places from {s}.outbox_places
where destination = $1::text and owner <> $2::text and until > $3::bigint`

const SAVE = `
insert into {s}.outbox_places (destination, owner, places, want, until) values ($1::text, $2::text, $3::int, $4::int, $5::bigint)
on conflict (destination, owner) do update set places = excluded.places, want = excluded.want, until = excluded.until`

/** What somebody asked for. */
interface Wish {
	readonly owner: string
	readonly want: number
}

export function takePlaces(database: Database, request: PlacesRequest): Promise<number> {
	const { destination, owner, want, inUse, total, leaseMs } = request
	return database.transaction(async (session) => {
		const [locked] = await session.run<{ ms: Big }>(LOCK, [destination])
		const now = Number(locked?.ms)
		const others = await othersOf(session, destination, owner, now)
		const taken = others.reduce((sum, { places }) => sum + places, 0)
		const part = fairPart({ owner, want }, others, total)
		const places = Math.max(0, Math.min(part, total - taken))
		// What is still being sent is in nobody else's reach, whatever this relay is told.
		await session.run(SAVE, [destination, owner, Math.max(places, inUse), want, now + Math.ceil(leaseMs)])
		return places
	})
}

async function othersOf(
	session: Session,
	destination: string,
	owner: string,
	now: number,
): Promise<readonly (Wish & { readonly places: number })[]> {
	const rows = await session.run<{ owner: string; want: Big; places: Big }>(OTHERS, [destination, owner, now])
	return rows.map((row) => ({ owner: row.owner, want: Number(row.want), places: Number(row.places) }))
}

/** Whoever wants less than an equal part leaves the rest of it to the others. Whole places that are left over go by name. */
export function fairPart(mine: Wish, others: readonly Wish[], total: number): number {
	let left = total
	let open = [mine, ...others].sort((a, b) => (a.owner < b.owner ? -1 : 1))
	for (;;) {
		const part = left / open.length
		const modest = open.filter(({ want }) => want <= part)
		if (modest.includes(mine)) return mine.want
		if (modest.length === 0) break
		left -= modest.reduce((sum, { want }) => sum + want, 0)
		open = open.filter((wish) => !modest.includes(wish))
	}
	const rest = left % open.length
	return Math.floor(left / open.length) + (open.indexOf(mine) < rest ? 1 : 0)
}

const LEAVE = `
with r as (delete from {s}.outbox_relays where id = $1::text)
delete from {s}.outbox_places where owner = $1::text`

/** A relay is gone, with its places. */
export async function leave(database: Database, owner: string): Promise<void> {
	await database.run(LEAVE, [owner])
}

const FORGET = `
with gone as (delete from {s}.outbox_relays where seen_at < {now} - $1::bigint returning id)
delete from {s}.outbox_places where owner in (select id from gone) or until < {now} - $1::bigint`

/** Those that have not been heard of for so long, with their places. */
export async function forget(database: Database, forgetAfterMs: number): Promise<void> {
	await database.run(FORGET, [Math.ceil(forgetAfterMs)])
}
