/** Heartbeats: a lease that is renewed in time is never taken over. */
import type { ClaimRef } from '../rows.ts'
import { after, type Connection } from './connection.ts'
import { ARE_HELD, byAttempt } from './held.ts'

const RENEW = `UPDATE yaoki_outbox SET lease_until = ?4 WHERE ${ARE_HELD}`
const STILL_HELD = `SELECT id FROM yaoki_outbox WHERE ${ARE_HELD}`

/** Answers the ids of those that are no longer held. */
export function renew(
	connection: Connection,
	owner: string,
	leaseMs: number,
	held: readonly ClaimRef[],
): readonly string[] {
	const until = after(connection.now(), leaseMs)
	const lost: string[] = []
	for (const [attempt, ids] of byAttempt(held)) {
		const json = JSON.stringify(ids)
		if (connection.run(RENEW, json, owner, attempt, until) === ids.length) continue
		const kept = new Set(connection.rows(STILL_HELD, json, owner, attempt).map(([id]) => id))
		for (const id of ids) if (!kept.has(id)) lost.push(id)
	}
	return lost
}
