/**
 * Which destinations there are, by jumping from one to the next in an index: a look costs some microseconds however many messages each of them has.
 * One statement a jump and not a recursive one for all, which could not end at the last that is wanted.
 */
import type { DueDestinations } from '../store.ts'
import type { Connection } from './connection.ts'

/** With when its first message is due. */
export const NEXT_QUEUED = `SELECT destination, due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_due
	WHERE destination > ? ORDER BY destination, due_at LIMIT 1`
const NEXT_DEAD = `SELECT destination FROM yaoki_outbox_dead INDEXED BY yaoki_outbox_dead_destination
	WHERE destination > ? ORDER BY destination LIMIT 1`

/** Nobody is called ''. */
const FIRST = ''

export function destinations(connection: Connection, limit: number, after: string = FIRST): DueDestinations {
	const now = connection.now()
	const names: string[] = []
	let next = Infinity
	let at = after
	while (names.length < limit) {
		const [name, dueAt] = connection.row(NEXT_QUEUED, at) ?? []
		if (name === undefined) break
		at = String(name)
		if (Number(dueAt) <= now) names.push(at)
		else next = Math.min(next, Number(dueAt))
	}
	return { names, nextDueInMs: next === Infinity ? undefined : next - now }
}

function namesBy(connection: Connection, sql: string, limit: number): readonly string[] {
	const names: string[] = []
	let at = FIRST
	while (names.length < limit) {
		const [name] = connection.row(sql, at) ?? []
		if (name === undefined) break
		at = String(name)
		names.push(at)
	}
	return names
}

/** Those that have anything in the queue or among the dead, at most so many. */
export function allDestinations(connection: Connection, limit: number): readonly string[] {
	const queued = namesBy(connection, NEXT_QUEUED, limit)
	const dead = namesBy(connection, NEXT_DEAD, limit)
	return [...new Set([...queued, ...dead])].sort().slice(0, limit)
}
