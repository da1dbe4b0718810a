/** Figures of the queue at a bounded cost (figures.ts): it is this thread that counts them, and nothing is sent meanwhile. */
import {
	counted,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	forecastOf,
	MOST_ATTEMPTS,
	MOST_DESTINATIONS,
	noAttempts,
	type Slot,
	shareOf,
} from '../figures.ts'
import type { DestinationCounts, StoreStats } from '../store.ts'
import type { Connection } from './connection.ts'
import { allDestinations } from './names.ts'

const FREE = '(lease_until IS NULL OR lease_until <= ?2)'
const AT = 'FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1'

const DUE = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at <= ?2 AND ${FREE} ORDER BY due_at LIMIT ?3)`
/** Nothing is in flight before it is due, so that the index alone tells. */
const WAITING = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at > ?2 ORDER BY due_at LIMIT ?3)`
/** Those in flight are the oldest that are due, mostly, so that only those are looked at: no index has the leases. */
const IN_FLIGHT = `SELECT count(*), total(lease_until > ?2) FROM (SELECT lease_until ${AT} AND due_at <= ?2 ORDER BY due_at LIMIT ?3)`
const DEAD = 'SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE destination = ? LIMIT ?)'
const NEXT_DUE = `SELECT due_at ${AT} AND due_at > ?2 AND ${FREE} ORDER BY due_at LIMIT 1`

/** Undefined when nothing waits in any of them. */
export function nextDueInMs(connection: Connection, among: readonly string[]): number | undefined {
	const now = connection.now()
	const times = among.flatMap((destination) => connection.row(NEXT_DUE, destination, now)?.[0] ?? [])
	return times.length > 0 ? Math.min(...times.map(Number)) - now : undefined
}

function countsOf(
	connection: Connection,
	destination: string,
	now: number,
	limit: number,
): DestinationCounts {
	const look = (sql: string): readonly (number | null)[] =>
		(connection.row(sql, destination, now, limit + 1) ?? []).map((value) =>
			value === null ? null : Number(value),
		)
	const [due, oldest = null] = look(DUE)
	const [waiting, next = null] = look(WAITING)
	const [seen, held] = look(IN_FLIGHT)
	return {
		destination,
		due: counted(due ?? 0, limit),
		scheduled: counted(waiting ?? 0, limit),
		// Whoever looked at as many as may be looked at may have missed some.
		inFlight: { count: Math.min(held ?? 0, limit), isCapped: (seen ?? 0) > limit },
		dead: counted(connection.number(DEAD, destination, limit + 1), limit),
		oldestLagMs: oldest === null ? null : now - oldest,
		nextDueInMs: next === null ? null : next - now,
	}
}

const attemptsBy = (which: string): string => `SELECT min(attempts, ${MOST_ATTEMPTS}), count(*)
	FROM (SELECT attempts FROM yaoki_outbox ${which} LIMIT ?) GROUP BY 1`
const ATTEMPTS = attemptsBy('ORDER BY seq')
const ATTEMPTS_AT = attemptsBy('INDEXED BY yaoki_outbox_due WHERE destination = ? ORDER BY due_at')

function attemptsOf(connection: Connection, limit: number, destination?: string): readonly number[] {
	const figures = noAttempts()
	const rows =
		destination === undefined
			? connection.rows(ATTEMPTS, limit)
			: connection.rows(ATTEMPTS_AT, destination, limit)
	for (const [attempts, count] of rows) figures[Number(attempts)] = Number(count)
	return figures
}

const SLOTS = `SELECT CAST((due_at - ?2 - 1) / ${FORECAST_STEP_MS} AS INTEGER), count(*) FROM (SELECT due_at ${AT}
	AND due_at > ?2 AND due_at <= ?2 + ${FORECAST_STEPS * FORECAST_STEP_MS} ORDER BY due_at LIMIT ?3) GROUP BY 1 ORDER BY 1`

function slotsOf(connection: Connection, destination: string, now: number, limit: number): readonly Slot[] {
	const most = FORECAST_STEPS * limit
	const rows = connection.rows(SLOTS, destination, now, most + 1)
	const isCut = rows.reduce((sum, [, count]) => sum + Number(count), 0) > most
	return rows.map(([step, count], at) => ({
		step: Number(step),
		count: Number(count),
		isCut: isCut && at === rows.length - 1,
	}))
}

export function stats(connection: Connection, limit: number, destination?: string): StoreStats {
	const now = connection.now()
	const found = destination === undefined ? allDestinations(connection, MOST_DESTINATIONS + 1) : [destination]
	const names = found.slice(0, MOST_DESTINATIONS)
	const share = shareOf(limit, names.length)
	const slots = names.flatMap((name) => slotsOf(connection, name, now, share))
	return {
		now,
		destinations: names.map((name) => countsOf(connection, name, now, share)),
		hasMoreDestinations: found.length > names.length,
		attempts: attemptsOf(connection, limit, destination),
		forecast: forecastOf(slots, limit),
	}
}
