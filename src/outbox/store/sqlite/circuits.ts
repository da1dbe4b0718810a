/** Circuits, pauses and token buckets of destinations. The write lock makes reading, deciding and writing one step. */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { applyChange, applyPause, type CircuitRecord, NO_CIRCUIT, toCircuit } from '../decisions/circuit.ts'
import * as bucket from '../decisions/tokens.ts'
import type { PauseReason, SharedCircuitState } from '../rows.ts'
import type { Operations } from './executor.ts'

const FIND = `SELECT state, paused_until, reason, failed_probes, delay_ms, closed_at, version
	FROM yaoki_outbox_destinations WHERE destination = ? AND version > 0`

const SAVE = `INSERT INTO yaoki_outbox_destinations (destination, state, paused_until, reason, failed_probes, delay_ms, closed_at, version)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (destination) DO UPDATE SET state = excluded.state, paused_until = excluded.paused_until, reason = excluded.reason,
		failed_probes = excluded.failed_probes, delay_ms = excluded.delay_ms, closed_at = excluded.closed_at, version = excluded.version`

export function readCircuit(connection: SqliteConnection, destination: string): CircuitRecord | undefined {
	const row = connection.row(FIND, destination)
	if (!row) return undefined
	return {
		state: row[0] as SharedCircuitState,
		pausedUntil: row[1] as number | null,
		reason: row[2] as PauseReason | null,
		failedProbes: row[3] as number,
		delayMs: row[4] as number,
		closedAt: row[5] as number | null,
		version: row[6] as number,
	}
}

function save(connection: SqliteConnection, destination: string, record: CircuitRecord): void {
	const { state, pausedUntil, reason, failedProbes, delayMs, closedAt, version } = record
	connection.run(SAVE, destination, state, pausedUntil, reason, failedProbes, delayMs, closedAt, version)
}

const FIND_BUCKET =
	'SELECT bucket_parts, bucket_interval, bucket_at FROM yaoki_outbox_destinations WHERE destination = ?'
const SAVE_BUCKET = `INSERT INTO yaoki_outbox_destinations (destination, bucket_parts, bucket_interval, bucket_at)
	VALUES (?, ?, ?, ?)
	ON CONFLICT (destination) DO UPDATE SET bucket_parts = excluded.bucket_parts, bucket_interval = excluded.bucket_interval,
		bucket_at = excluded.bucket_at`

function readBucket(connection: SqliteConnection, destination: string): bucket.TokenBucket | undefined {
	const [parts = null, intervalMs, at] = connection.row(FIND_BUCKET, destination) ?? []
	return parts === null ? undefined : { parts: Number(parts), intervalMs: Number(intervalMs), at: Number(at) }
}

const saveBucket = (
	connection: SqliteConnection,
	destination: string,
	{ parts, intervalMs, at }: bucket.TokenBucket,
): number => connection.run(SAVE_BUCKET, destination, parts, intervalMs, at)

export const circuitOperations = (
	connection: SqliteConnection,
): Operations<'circuits' | 'changeCircuit' | 'pause' | 'acquireTokens' | 'returnTokens'> => ({
	circuits(destinations) {
		const now = connection.now()
		return [...new Set(destinations)].flatMap((destination) => {
			const record = readCircuit(connection, destination)
			return record ? [toCircuit(destination, record, now)] : []
		})
	},
	changeCircuit(change) {
		const now = connection.now()
		const { destination } = change
		const before = readCircuit(connection, destination) ?? NO_CIRCUIT
		const after = applyChange(before, change, now)
		if (after) save(connection, destination, after)
		return { isApplied: after !== undefined, circuit: toCircuit(destination, after ?? before, now) }
	},
	pause(destination, forMs, reason) {
		const before = readCircuit(connection, destination) ?? NO_CIRCUIT
		const after = applyPause(before, forMs, reason, connection.now())
		if (after) save(connection, destination, after)
	},
	acquireTokens(destination, count, rate) {
		const before = readBucket(connection, destination)
		const { bucket: after, ...grant } = bucket.takeTokens(before, count, rate, connection.now())
		saveBucket(connection, destination, after)
		return grant
	},
	returnTokens(destination, count, rate) {
		const before = readBucket(connection, destination)
		const after = bucket.returnTokens(before, count, rate, connection.now())
		if (after) saveBucket(connection, destination, after)
	},
})
