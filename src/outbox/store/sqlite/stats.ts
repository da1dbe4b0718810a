/**
 * Figures of the queue at a bounded cost: each count ends at a limit, and destinations are found by jumping from one to the next in
 * the index instead of reading through it.
 */
import type { Counted, DestinationCounts, StoreStats } from '../store.ts'
import { counted } from './archive.ts'
import type { Connection } from './connection.ts'

const skipScan = (table: string, index: string): string => `WITH RECURSIVE found(destination) AS (
		SELECT * FROM (SELECT destination FROM ${table} INDEXED BY ${index} ORDER BY destination LIMIT 1)
		UNION ALL
		SELECT (SELECT t.destination FROM ${table} t INDEXED BY ${index} WHERE t.destination > found.destination
			ORDER BY t.destination LIMIT 1)
		FROM found WHERE found.destination IS NOT NULL
	) SELECT destination FROM found WHERE destination IS NOT NULL LIMIT ?`

export const IN_QUEUE: string = skipScan('yaoki_outbox', 'yaoki_outbox_due')
const AMONG_DEAD = skipScan('yaoki_outbox_dead', 'yaoki_outbox_dead_destination')

const names = (connection: Connection, sql: string, limit: number): readonly string[] =>
	connection.rows(sql, limit).map(([name]) => String(name))

export const destinations = (connection: Connection, limit: number): readonly string[] =>
	names(connection, IN_QUEUE, limit)

const FREE = '(lease_until IS NULL OR lease_until <= ?2)'
const AT = 'FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1'

const DUE = `SELECT count(*) FROM (SELECT 1 ${AT} AND due_at <= ?2 AND ${FREE} LIMIT ?3)`
const WAITING = `SELECT count(*) FROM (SELECT 1 ${AT} AND due_at > ?2 AND ${FREE} LIMIT ?3)`
/** Those in flight are the oldest that are due, so that it is enough to look at those: no index has the leases. */
const IN_FLIGHT = `SELECT count(*), sum(lease_until > ?2) FROM (SELECT lease_until ${AT} AND due_at <= ?2 ORDER BY due_at LIMIT ?3)`
const DEAD = 'SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE destination = ? LIMIT ?)'
const OLDEST_DUE = `SELECT due_at ${AT} AND due_at <= ?2 AND ${FREE} ORDER BY due_at LIMIT 1`
const NEXT_DUE = `SELECT due_at ${AT} AND due_at > ?2 AND ${FREE} ORDER BY due_at LIMIT 1`
const BETWEEN = `SELECT count(*) FROM (SELECT 1 ${AT} AND due_at > ?2 AND due_at <= ?3 LIMIT ?4)`

const numberOrNull = (
	connection: Connection,
	sql: string,
	destination: string,
	now: number,
): number | null => {
	const found = connection.row(sql, destination, now)?.[0] ?? null
	return found === null ? null : Number(found)
}

/** Undefined when nothing waits in any of them. */
export function nextDueInMs(connection: Connection, among: readonly string[]): number | undefined {
	const now = connection.now()
	const times = among.map((destination) => numberOrNull(connection, NEXT_DUE, destination, now))
	const waiting = times.filter((time) => time !== null)
	return waiting.length > 0 ? Math.min(...waiting) - now : undefined
}

function inFlight(connection: Connection, destination: string, now: number, limit: number): Counted {
	const [seen = 0, held = 0] = connection.row(IN_FLIGHT, destination, now, limit + 1) ?? []
	const { count } = counted(Number(held ?? 0), limit)
	// Whoever looked at as many as may be looked at, and found some at the end of it, may have missed more.
	return { count, isCapped: Number(seen) > limit }
}

function countsOf(
	connection: Connection,
	destination: string,
	now: number,
	limit: number,
): DestinationCounts {
	const count = (sql: string): Counted => counted(connection.number(sql, destination, now, limit + 1), limit)
	const oldest = numberOrNull(connection, OLDEST_DUE, destination, now)
	const next = numberOrNull(connection, NEXT_DUE, destination, now)
	return {
		destination,
		due: count(DUE),
		waiting: count(WAITING),
		inFlight: inFlight(connection, destination, now, limit),
		dead: counted(connection.number(DEAD, destination, limit + 1), limit),
		oldestLagMs: oldest === null ? null : now - oldest,
		nextDueInMs: next === null ? null : next - now,
	}
}

/** From 0 to 9 attempts each has its own figure; the last is for 10 and more. */
const MOST_ATTEMPTS = 10
const ATTEMPTS = `SELECT min(attempts, ${MOST_ATTEMPTS}), count(*)
	FROM (SELECT attempts FROM yaoki_outbox ORDER BY seq LIMIT ?) GROUP BY 1`

function attemptsOf(connection: Connection, limit: number): readonly number[] {
	const figures = Array.from({ length: MOST_ATTEMPTS + 1 }, () => 0)
	for (const [attempts, count] of connection.rows(ATTEMPTS, limit)) figures[Number(attempts)] = Number(count)
	return figures
}

const FORECAST_STEPS = 12
const FORECAST_STEP_MS = 300_000

function forecastOf(connection: Connection, among: readonly string[], now: number, limit: number): Counted[] {
	return Array.from({ length: FORECAST_STEPS }, (_, step) => {
		const from = now + step * FORECAST_STEP_MS
		let found = 0
		for (const destination of among) {
			if (found > limit) break
			found += connection.number(BETWEEN, destination, from, from + FORECAST_STEP_MS, limit + 1 - found)
		}
		return counted(found, limit)
	})
}

/** More destinations than this are not looked at: whoever has one for every customer does not read them all. */
const MOST_DESTINATIONS = 1_000

export function stats(connection: Connection, limit: number): StoreStats {
	const now = connection.now()
	const queued = names(connection, IN_QUEUE, MOST_DESTINATIONS)
	const all = [...new Set([...queued, ...names(connection, AMONG_DEAD, MOST_DESTINATIONS)])].sort()
	return {
		now,
		destinations: all.map((destination) => countsOf(connection, destination, now, limit)),
		attempts: attemptsOf(connection, limit),
		forecast: forecastOf(connection, queued, now, limit),
	}
}
