/** Circuits, pauses and token buckets of destinations. The write lock makes reading, deciding and writing one step. */
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import {
	applyChange,
	applyOperatorChange,
	applyPause,
	type CircuitRecord,
	NO_CIRCUIT,
	toCircuit,
} from '../decisions/circuit.ts'
import * as bucket from '../decisions/tokens.ts'
import type { DestinationCircuit, RelayPauseReason, SharedCircuitState } from '../rows.ts'
import type { CoordinationStore } from '../store.ts'
import { auditChange } from './dead-letters.ts'
import type { Operations } from './executor.ts'

const COLUMNS = [
	...['state', 'paused_until', 'reason', 'failed_probes', 'delay_ms', 'closed_at', 'version'],
	...['operator_until', 'operator_at', 'operator_by', 'operator_reason'],
]

const FIND = `SELECT ${COLUMNS.join(', ')} FROM yaoki_outbox_destinations WHERE destination = ? AND version > 0`

const SAVE = `INSERT INTO yaoki_outbox_destinations (destination, ${COLUMNS.join(', ')})
	VALUES (?, ${COLUMNS.map(() => '?').join(', ')})
	ON CONFLICT (destination) DO UPDATE SET ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`

const PAUSED_BY_OPERATOR = `SELECT destination FROM yaoki_outbox_destinations INDEXED BY yaoki_outbox_destinations_operator
	WHERE operator_until > ? ORDER BY destination LIMIT ?`

export function readCircuit(connection: SqliteConnection, destination: string): CircuitRecord | undefined {
	const row = connection.row(FIND, destination)
	if (!row) return undefined
	return {
		state: row[0] as SharedCircuitState,
		pausedUntil: row[1] as number | null,
		reason: row[2] as RelayPauseReason | null,
		failedProbes: row[3] as number,
		delayMs: row[4] as number,
		closedAt: row[5] as number | null,
		version: row[6] as number,
		operatorPause:
			row[7] === null
				? null
				: {
						until: row[7] as number,
						pausedAt: row[8] as number,
						by: row[9] as string,
						reason: row[10] as string | null,
					},
	}
}

const readCircuits = (
	connection: SqliteConnection,
	destinations: readonly string[],
	now: number,
): readonly DestinationCircuit[] =>
	[...new Set(destinations)].flatMap((destination) => {
		const record = readCircuit(connection, destination)
		return record ? [toCircuit(destination, record, now)] : []
	})

function save(connection: SqliteConnection, destination: string, record: CircuitRecord): void {
	const { state, pausedUntil, reason, failedProbes, delayMs, closedAt, version, operatorPause } = record
	connection.run(
		...[SAVE, destination, state, pausedUntil, reason, failedProbes, delayMs, closedAt, version],
		...(operatorPause
			? [operatorPause.until, operatorPause.pausedAt, operatorPause.by, operatorPause.reason]
			: [null, null, null, null]),
	)
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
): Operations<Exclude<keyof CoordinationStore, 'acquirePermits'>> => ({
	circuits: (destinations) => readCircuits(connection, destinations, connection.now()),
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
	changeByOperator(change) {
		const now = connection.now()
		const { destination } = change
		const before = readCircuit(connection, destination) ?? NO_CIRCUIT
		const after = applyOperatorChange(before, change, now)
		if (after) {
			save(connection, destination, after)
			auditChange(connection, change, now)
		}
		return { isChanged: after !== undefined, circuit: toCircuit(destination, after ?? before, now) }
	},
	operatorPauses(limit) {
		const now = connection.now()
		const names = connection.rows(PAUSED_BY_OPERATOR, now, limit).map(([name]) => String(name))
		return readCircuits(connection, names, now)
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
