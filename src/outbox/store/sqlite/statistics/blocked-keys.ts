/** Finds keys whose messages wait for one message, at a bounded cost: a jump through an index per key, and a count up to a limit behind it. */
import type { SqliteConnection, SqlRow } from '../../../../sql/sqlite-connection.ts'
import { type BlockingMessage, sumBlocked } from '../../blocked-keys.ts'
import {
	BLOCKING_FAILURES,
	BLOCKING_WAIT_MS,
	limitPerDestination,
	MAX_BEHIND,
	MAX_BLOCKING,
} from '../../count-limits.ts'
import type { BlockedKeys } from '../../store-stats.ts'

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
export function blockedByDead(
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
export function blockedByRetry(
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

/** Returns how many keys behind dead letters are counted for each of `destinations` destinations. */
export const keysPerDestination = (destinations: number): number =>
	limitPerDestination(MAX_BLOCKING, destinations)
