/**
 * Lists destinations by jumping from one to the next in an index: each jump costs microseconds, however many messages a destination has. One
 * statement per jump; a single recursive statement could not stop at the last wanted name.
 */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import type { Operations } from './executor.ts'

/** The next destination with the due time of its first message. */
export const NEXT_QUEUED = `SELECT destination, due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_due
	WHERE destination > ? ORDER BY destination, due_at LIMIT 1`
const NEXT_DEAD = `SELECT destination FROM yaoki_outbox_dead INDEXED BY yaoki_outbox_dead_destination
	WHERE destination > ? ORDER BY destination LIMIT 1`

/** No destination has an empty name. */
const START = ''

const NEXT_DUE = `SELECT due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1
	AND due_at > ?2 AND (lease_until IS NULL OR lease_until <= ?2) ORDER BY due_at LIMIT 1`

export const scheduleOperations = (
	connection: SqliteConnection,
): Operations<'dueDestinations' | 'nextDueInMs'> => ({
	dueDestinations(limit, after = START) {
		const now = connection.now()
		const names: string[] = []
		let nextDueAt = Infinity
		let at = after
		while (names.length < limit) {
			const [name, dueAt] = connection.row(NEXT_QUEUED, at) ?? []
			if (name === undefined) break
			at = String(name)
			if (Number(dueAt) <= now) names.push(at)
			else nextDueAt = Math.min(nextDueAt, Number(dueAt))
		}
		return { names, nextDueInMs: nextDueAt === Infinity ? undefined : nextDueAt - now }
	},
	nextDueInMs(destinations) {
		const now = connection.now()
		const times = destinations.flatMap((name) => connection.row(NEXT_DUE, name, now)?.[0] ?? [])
		return times.length > 0 ? Math.min(...times.map(Number)) - now : undefined
	},
})

function namesBy(connection: SqliteConnection, sql: string, limit: number): readonly string[] {
	const names: string[] = []
	let at = START
	while (names.length < limit) {
		const [name] = connection.row(sql, at) ?? []
		if (name === undefined) break
		at = String(name)
		names.push(at)
	}
	return names
}

/** Returns at most `limit` destinations with queued or dead messages. */
export function allDestinations(connection: SqliteConnection, limit: number): readonly string[] {
	const queued = namesBy(connection, NEXT_QUEUED, limit)
	const dead = namesBy(connection, NEXT_DEAD, limit)
	return [...new Set([...queued, ...dead])].sort().slice(0, limit)
}
