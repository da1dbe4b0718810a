/** Counts messages at a bounded cost (count-limits.ts): counting runs in this thread, and nothing is sent meanwhile. */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import {
	cappedCount,
	emptyAttempts,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	type ForecastSlot,
	limitPerDestination,
	MAX_ATTEMPTS_COUNTED,
	MAX_DESTINATIONS,
	sumForecast,
} from '../count-limits.ts'
import type { DestinationCounts, StoreStats } from '../store.ts'
import { allDestinations } from './destination-names.ts'

const FREE = '(lease_until IS NULL OR lease_until <= ?2)'
const AT = 'FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1'

const DUE = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at <= ?2 AND ${FREE} ORDER BY due_at LIMIT ?3)`
/** Nothing is in flight before it is due, so the index alone suffices. */
const SCHEDULED = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at > ?2 ORDER BY due_at LIMIT ?3)`
/** Messages in flight are usually the oldest due ones, so only those are read: no index contains the leases. */
const IN_FLIGHT = `SELECT count(*), total(lease_until > ?2) FROM (SELECT lease_until ${AT} AND due_at <= ?2 ORDER BY due_at LIMIT ?3)`
const DEAD = 'SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE destination = ? LIMIT ?)'

function countDestination(
	connection: SqliteConnection,
	destination: string,
	now: number,
	limit: number,
): DestinationCounts {
	const read = (sql: string): readonly (number | null)[] =>
		(connection.row(sql, destination, now, limit + 1) ?? []).map((value) =>
			value === null ? null : Number(value),
		)
	const [due, oldest = null] = read(DUE)
	const [scheduled, next = null] = read(SCHEDULED)
	const [scanned, inFlight] = read(IN_FLIGHT)
	return {
		destination,
		due: cappedCount(due ?? 0, limit),
		scheduled: cappedCount(scheduled ?? 0, limit),
		// A scan that reached its limit may have missed some.
		inFlight: { count: Math.min(inFlight ?? 0, limit), isCapped: (scanned ?? 0) > limit },
		dead: cappedCount(connection.number(DEAD, destination, limit + 1), limit),
		oldestLagMs: oldest === null ? null : now - oldest,
		nextDueInMs: next === null ? null : next - now,
	}
}

const attemptsSql = (which: string): string => `SELECT min(attempts, ${MAX_ATTEMPTS_COUNTED}), count(*)
	FROM (SELECT attempts FROM yaoki_outbox ${which} LIMIT ?) GROUP BY 1`
const ATTEMPTS = attemptsSql('ORDER BY seq')
const ATTEMPTS_AT = attemptsSql('INDEXED BY yaoki_outbox_due WHERE destination = ? ORDER BY due_at')

function countAttempts(connection: SqliteConnection, limit: number, destination?: string): readonly number[] {
	const counts = emptyAttempts()
	const rows =
		destination === undefined
			? connection.rows(ATTEMPTS, limit)
			: connection.rows(ATTEMPTS_AT, destination, limit)
	for (const [attempts, count] of rows) counts[Number(attempts)] = Number(count)
	return counts
}

const SLOTS = `SELECT CAST((due_at - ?2 - 1) / ${FORECAST_STEP_MS} AS INTEGER), count(*) FROM (SELECT due_at ${AT}
	AND due_at > ?2 AND due_at <= ?2 + ${FORECAST_STEPS * FORECAST_STEP_MS} ORDER BY due_at LIMIT ?3) GROUP BY 1 ORDER BY 1`

function forecastSlots(
	connection: SqliteConnection,
	destination: string,
	now: number,
	limit: number,
): readonly ForecastSlot[] {
	const max = FORECAST_STEPS * limit
	const rows = connection.rows(SLOTS, destination, now, max + 1)
	const isCut = rows.reduce((sum, [, count]) => sum + Number(count), 0) > max
	return rows.map(([step, count], at) => ({
		step: Number(step),
		count: Number(count),
		isCut: isCut && at === rows.length - 1,
	}))
}

export function stats(connection: SqliteConnection, limit: number, destination?: string): StoreStats {
	const now = connection.now()
	const found = destination === undefined ? allDestinations(connection, MAX_DESTINATIONS + 1) : [destination]
	const names = found.slice(0, MAX_DESTINATIONS)
	const share = limitPerDestination(limit, names.length)
	const slots = names.flatMap((name) => forecastSlots(connection, name, now, share))
	return {
		now,
		destinations: names.map((name) => countDestination(connection, name, now, share)),
		hasMoreDestinations: found.length > names.length,
		attempts: countAttempts(connection, limit, destination),
		forecast: sumForecast(slots, limit),
	}
}
