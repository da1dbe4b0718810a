/** Counts messages at a bounded cost (counting.ts): counting runs in this thread, and nothing is sent meanwhile. */
import type { SqliteConnection, SqlRow } from '../../../sql/sqlite-connection.ts'
import {
	BLOCKING_FAILURES,
	BLOCKING_WAIT_MS,
	type BlockingMessage,
	countAttempts,
	FORECAST_STEP_MS,
	FORECAST_STEPS,
	type ForecastSlot,
	type FoundCounts,
	limitPerDestination,
	MAX_ATTEMPTS_COUNTED,
	MAX_BEHIND,
	MAX_BLOCKING,
	MAX_DESTINATIONS,
	MAX_SAMPLE,
	MIN_LIMIT,
	type SampleRow,
	sumBlocked,
	sumForecast,
	toDestinationCounts,
} from '../counting.ts'
import type { BlockedKeys, StoreStats } from '../store-stats.ts'
import { NEXT_QUEUED, NO_DESTINATION } from './due.ts'

const FREE = '(lease_until IS NULL OR lease_until <= ?2)'
const AT = 'FROM yaoki_outbox INDEXED BY yaoki_outbox_due WHERE destination = ?1'

const DUE = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at <= ?2 AND ${FREE} ORDER BY due_at LIMIT ?3)`
/** Nothing is in flight before it is due, so the index alone suffices. */
const SCHEDULED = `SELECT count(*), min(due_at) FROM (SELECT due_at ${AT} AND due_at > ?2 ORDER BY due_at LIMIT ?3)`
/** Messages in flight are usually the oldest due ones, so only those are read: no index contains the leases. */
const IN_FLIGHT = `SELECT count(*), total(lease_until > ?2), min(due_at) FROM
	(SELECT lease_until, due_at ${AT} AND due_at <= ?2 ORDER BY due_at LIMIT ?3)`
const OLDEST_FAILED = `FROM yaoki_outbox INDEXED BY yaoki_outbox_retried
	WHERE destination = ?1 AND first_due_after_ms IS NOT NULL ORDER BY created_at + first_due_after_ms LIMIT`
export const FAILING: string = `SELECT count(*), min(first_due) FROM
	(SELECT created_at + first_due_after_ms AS first_due ${OLDEST_FAILED} ?3)`
/** Attempts change with every claim and are in no index. */
const FAILED_ATTEMPTS = `SELECT max(attempts) FROM (SELECT attempts ${OLDEST_FAILED} min(?3, ${MAX_SAMPLE}))`
const DEAD = 'SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox_dead WHERE destination = ? LIMIT ?)'

const NEXT_DEAD = `SELECT destination FROM yaoki_outbox_dead INDEXED BY yaoki_outbox_dead_destination
	WHERE destination > ? ORDER BY destination LIMIT 1`

function namesBy(connection: SqliteConnection, sql: string, limit: number): readonly string[] {
	const names: string[] = []
	let at = NO_DESTINATION
	while (names.length < limit) {
		const [name] = connection.row(sql, at) ?? []
		if (name === undefined) break
		at = String(name)
		names.push(at)
	}
	return names
}

/** Returns at most `limit` destinations with queued or dead messages. */
function allDestinations(connection: SqliteConnection, limit: number): readonly string[] {
	const queued = namesBy(connection, NEXT_QUEUED, limit)
	const dead = namesBy(connection, NEXT_DEAD, limit)
	return [...new Set([...queued, ...dead])].sort().slice(0, limit)
}

/* Keys whose messages wait for one message. Each key costs a jump through an index, and a count up to a limit behind it. */

export const NEXT_BLOCKED_KEY = `SELECT key, id, seq, died_at FROM yaoki_outbox_dead INDEXED BY yaoki_outbox_dead_blocking
	WHERE blocks = 1 AND destination = ? AND key > ? ORDER BY key, seq LIMIT 1`

/** A claim counts its attempt before the outcome is known. */
const FAILURES = '(f.attempts - (f.locked_by IS NOT NULL))'

/** The first of their key among the oldest failed messages. */
export const FAILED_FIRST: string = `SELECT f.key, f.id, f.seq, f.created_at + f.first_due_after_ms FROM (
		SELECT key, id, seq, created_at, first_due_after_ms, attempts, locked_by, due_at FROM yaoki_outbox INDEXED BY yaoki_outbox_retried WHERE destination = ?1 AND first_due_after_ms IS NOT NULL
		ORDER BY created_at + first_due_after_ms LIMIT ?3
	) f WHERE f.key IS NOT NULL
		AND (${FAILURES} >= ${BLOCKING_FAILURES} OR f.due_at >= ?2 + ${BLOCKING_WAIT_MS})
		AND NOT EXISTS (SELECT 1 FROM yaoki_outbox e INDEXED BY yaoki_outbox_key
			WHERE e.destination = ?1 AND e.key = f.key AND e.seq < f.seq)`

const COUNT_BEHIND = `SELECT count(*) FROM (SELECT 1 FROM yaoki_outbox INDEXED BY yaoki_outbox_key
	WHERE destination = ? AND key = ? AND seq > ? LIMIT ?)`

function countBehind(
	connection: SqliteConnection,
	destination: string,
	rows: readonly SqlRow[],
	limit: number,
): readonly BlockingMessage[] {
	return rows.map(([key = null, id, seq = null, since]) => ({
		destination,
		key: String(key),
		id: String(id),
		since: Number(since),
		behind: connection.number(COUNT_BEHIND, destination, key, seq, limit + 1),
	}))
}

/** Counts keys behind dead letters, at most `maxKeys`. */
function blockedByDead(
	connection: SqliteConnection,
	destination: string,
	now: number,
	limit: number,
	maxKeys: number,
): BlockedKeys {
	const rows: SqlRow[] = []
	for (let row = connection.row(NEXT_BLOCKED_KEY, destination, ''); row !== undefined; ) {
		rows.push(row)
		if (rows.length > maxKeys) break
		row = connection.row(NEXT_BLOCKED_KEY, destination, row[0] ?? '')
	}
	const share = limitPerDestination(Math.min(limit, MAX_BEHIND), rows.length)
	const found = countBehind(connection, destination, rows.slice(0, maxKeys), share)
	return sumBlocked(found, share, now, rows.length > maxKeys)
}

/** Counts keys behind messages that wait for a retry, among the `checked` oldest ones. */
function blockedByRetry(
	connection: SqliteConnection,
	destination: string,
	now: number,
	limit: number,
	checked: number,
	isCut: boolean,
): BlockedKeys {
	const rows = connection.rows(FAILED_FIRST, destination, now, checked)
	const share = limitPerDestination(Math.min(limit, MAX_BEHIND), rows.length)
	return sumBlocked(countBehind(connection, destination, rows, share), share, now, isCut)
}

function countDestination(
	connection: SqliteConnection,
	destination: string,
	now: number,
	limit: number,
): FoundCounts {
	const read = (sql: string): readonly (number | null)[] =>
		(connection.row(sql, destination, now, limit + 1) ?? []).map((value) =>
			value === null ? null : Number(value),
		)
	const [due, oldest = null] = read(DUE)
	const [scheduled, next = null] = read(SCHEDULED)
	const [scanned, inFlight, firstDue = null] = read(IN_FLIGHT)
	const [failing, failedFirstDue = null] = read(FAILING)
	const [maxAttempts = null] = read(FAILED_ATTEMPTS)
	return {
		destination,
		limit,
		due: due ?? 0,
		lagMs: oldest === null ? null : now - oldest,
		scheduled: scheduled ?? 0,
		nextDueInMs: next === null ? null : next - now,
		scanned: scanned ?? 0,
		inFlight: inFlight ?? 0,
		firstDue,
		failing: failing ?? 0,
		failedFirstDue,
		maxAttempts,
		dead: connection.number(DEAD, destination, limit + 1),
	}
}

const sampleSql = (
	which: string,
): string => `SELECT destination, min(attempts, ${MAX_ATTEMPTS_COUNTED}), count(*), max(attempts),
		min(CASE WHEN attempts > 0 AND first_due_after_ms IS NULL AND due_at > ?1 THEN created_at END),
		max(max(created_at, coalesce(locked_at, 0), coalesce(last_attempt_at, 0)))
	FROM (SELECT destination, attempts, created_at, first_due_after_ms, due_at, locked_at, last_attempt_at
		FROM yaoki_outbox ${which} LIMIT ?2) GROUP BY 1, 2`
const SAMPLE = sampleSql('ORDER BY seq')
const SAMPLE_OF_ONE = sampleSql('INDEXED BY yaoki_outbox_due WHERE destination = ?3 ORDER BY due_at')

function readSample(
	connection: SqliteConnection,
	now: number,
	limit: number,
	destination: string | undefined,
): readonly SampleRow[] {
	const rows =
		destination === undefined
			? connection.rows(SAMPLE, now, limit)
			: connection.rows(SAMPLE_OF_ONE, now, limit, destination)
	return rows.map(([name, attempts, count, maxAttempts, firstDue = null, latest]) => ({
		destination: String(name),
		attempts: Number(attempts),
		count: Number(count),
		maxAttempts: Number(maxAttempts),
		firstDue: firstDue === null ? null : Number(firstDue),
		latest: Number(latest),
	}))
}

/** The newest messages and the relays: a clock that was set back has not reached their times again. */
const LATEST = `SELECT max((SELECT coalesce(max(created_at), 0) FROM (SELECT created_at FROM yaoki_outbox ORDER BY seq DESC LIMIT ${MIN_LIMIT})),
	(SELECT coalesce(max(max(seen_at, started_at)), 0) FROM yaoki_outbox_relays))`

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

/** `wallNow` is the clock of the machine: the time of the database continues when that one is set back. */
export function stats(
	connection: SqliteConnection,
	wallNow: () => number,
	limit: number,
	destination?: string,
): StoreStats {
	const now = connection.now()
	const found = destination === undefined ? allDestinations(connection, MAX_DESTINATIONS + 1) : [destination]
	const names = found.slice(0, MAX_DESTINATIONS)
	const share = limitPerDestination(limit, names.length)
	const slots = names.flatMap((name) => forecastSlots(connection, name, now, share))
	const sample = readSample(connection, now, limit, destination)
	const latest = Math.max(now, connection.number(LATEST), ...sample.map((row) => row.latest))
	const maxKeys = limitPerDestination(MAX_BLOCKING, names.length)
	const checked = limitPerDestination(Math.min(share, MAX_BLOCKING), names.length)
	return {
		now,
		destinations: names.map((name) => {
			const counts = countDestination(connection, name, now, share)
			const isCut = counts.failing > checked
			return {
				...toDestinationCounts(counts, now, sample),
				blockedByDead: blockedByDead(connection, name, now, share, maxKeys),
				blockedByRetry: blockedByRetry(connection, name, now, share, checked, isCut),
			}
		}),
		hasMoreDestinations: found.length > names.length,
		attempts: countAttempts(sample),
		forecast: sumForecast(slots, limit),
		clockBehindMs: Math.max(0, latest - Math.floor(wallNow())),
	}
}
