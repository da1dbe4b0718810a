/**
 * Who may use how many of the permits that all relays share. Strict: what was given to somebody is not given to another before it is given
 * back or its time is over. Fair: everybody who asked lately has a right to an equal part of what it wants, and whoever has more comes
 * down when it asks again, which leaves the rest to those who have less.
 */
import type { PermitRequest } from '../rows.ts'
import { after, type Connection } from './connection.ts'

const FORGET = 'DELETE FROM yaoki_outbox_permits WHERE destination = ? AND until <= ?'
const OTHERS = 'SELECT owner, wanted, permits FROM yaoki_outbox_permits WHERE destination = ? AND owner <> ?'
const SAVE = `INSERT INTO yaoki_outbox_permits (destination, owner, wanted, permits, until) VALUES (?, ?, ?, ?, ?)
	ON CONFLICT (destination, owner) DO UPDATE SET wanted = excluded.wanted, permits = excluded.permits, until = excluded.until`

export function acquirePermits(connection: Connection, request: PermitRequest): number {
	const { destination, owner, wanted, inUse, total, leaseMs } = request
	const now = connection.now()
	connection.run(FORGET, destination, now)
	const others = connection.rows(OTHERS, destination, owner)
	const wishes = others.map(([name, wanted]) => ({ name: String(name), wanted: Number(wanted) }))
	const taken = others.reduce((sum, [, , permits]) => sum + Number(permits), 0)
	const share = fairShare([...wishes, { name: owner, wanted: wanted }], owner, total)
	const permits = Math.max(0, Math.min(share, total - taken))
	// What it sends already stays its own until it is done, or those who are given the rest would make it too many.
	connection.run(SAVE, destination, owner, wanted, Math.max(permits, inUse), after(now, leaseMs))
	return permits
}

interface Wish {
	readonly name: string
	readonly wanted: number
}

/** Those who want little get it, and the others an equal part of the rest; what can not be divided goes by name, so that all agree. */
function fairShare(wishes: readonly Wish[], owner: string, total: number): number {
	const byWish = [...wishes].sort((a, b) => a.wanted - b.wanted || (a.name < b.name ? -1 : 1))
	let left = total
	let part = 0
	for (const [at, { name, wanted }] of byWish.entries()) {
		part = Math.min(wanted, Math.floor(left / (byWish.length - at)))
		if (name === owner) break
		left -= part
	}
	return part
}
