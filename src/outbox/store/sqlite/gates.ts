/** What all relays know of a destination: whether it is let through, and what is left of its rate. */
import type { CircuitState } from '../../../core/events/events.ts'
import type { CircuitChange, DestinationCircuit, PauseReason, Rate, TokenGrant } from '../rows.ts'
import { after, type Connection } from './connection.ts'

const FIND = `SELECT state, paused_until, reason, failed_probes, delay_ms, closed_at, version
	FROM yaoki_outbox_destinations WHERE destination = ? AND version > 0`

const SAVE = `INSERT INTO yaoki_outbox_destinations (destination, state, paused_until, reason, failed_probes, delay_ms, closed_at, version)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (destination) DO UPDATE SET state = excluded.state, paused_until = excluded.paused_until, reason = excluded.reason,
		failed_probes = excluded.failed_probes, delay_ms = excluded.delay_ms, closed_at = excluded.closed_at, version = excluded.version`

interface StoredGate {
	readonly state: CircuitState
	readonly heldUntil: number | null
	readonly reason: PauseReason | null
	readonly failedProbes: number
	readonly delayMs: number
	/** When it was last closed after an outage. A hold ends by itself, when it says. */
	readonly openedAt: number | null
	readonly version: number
}

function stored(connection: Connection, destination: string): StoredGate | undefined {
	const row = connection.row(FIND, destination)
	if (!row) return undefined
	return {
		state: row[0] as CircuitState,
		heldUntil: row[1] as number | null,
		reason: row[2] as PauseReason | null,
		failedProbes: row[3] as number,
		delayMs: row[4] as number,
		openedAt: row[5] as number | null,
		version: row[6] as number,
	}
}

function save(connection: Connection, destination: string, gate: StoredGate): void {
	const { state, heldUntil, reason, failedProbes, delayMs, openedAt, version } = gate
	connection.run(SAVE, destination, state, heldUntil, reason, failedProbes, delayMs, openedAt, version)
}

/** When it was let through again, or will be: the later of a closing and the end of a hold. */
const openedAt = ({ openedAt: closedAt, heldUntil }: StoredGate): number | null =>
	closedAt === null || heldUntil === null ? (closedAt ?? heldUntil) : Math.max(closedAt, heldUntil)

function shown(destination: string, gate: StoredGate, now: number): DestinationCircuit {
	const { state, reason, failedProbes, delayMs, version } = gate
	const opened = openedAt(gate)
	return {
		destination,
		state,
		pausedForMs: Math.max(0, (gate.heldUntil ?? 0) - now),
		reason,
		failedProbes,
		delayMs,
		closedAgoMs: opened === null ? null : Math.max(0, now - opened),
		version,
	}
}

export function gateOf(
	connection: Connection,
	destination: string,
	now: number,
): DestinationCircuit | undefined {
	const gate = stored(connection, destination)
	return gate && shown(destination, gate, now)
}

export function gatesOf(
	connection: Connection,
	destinations: readonly string[],
): readonly DestinationCircuit[] {
	const now = connection.now()
	const gates = [...new Set(destinations)].map((destination) => gateOf(connection, destination, now))
	return gates.filter((gate) => gate !== undefined)
}

const NO_GATE: StoredGate = {
	state: 'closed',
	heldUntil: null,
	reason: null,
	failedProbes: 0,
	delayMs: 0,
	openedAt: null,
	version: 0,
}

/** The write lock makes looking and changing one step. */
export function turnGate(
	connection: Connection,
	change: CircuitChange,
): { isApplied: boolean; circuit: DestinationCircuit } {
	const now = connection.now()
	const { destination, state, pausedForMs, reason, failedProbes, delayMs } = change
	const before = stored(connection, destination) ?? NO_GATE
	if (before.version !== change.version) return { isApplied: false, circuit: shown(destination, before, now) }
	const wasShut = before.state !== 'closed' || (before.heldUntil ?? 0) > now
	const gate: StoredGate = {
		state,
		heldUntil: pausedForMs > 0 ? after(now, pausedForMs) : null,
		reason,
		failedProbes,
		delayMs,
		openedAt: wasShut && state === 'closed' ? now : openedAt(before),
		version: before.version + 1,
	}
	save(connection, destination, gate)
	return { isApplied: true, circuit: shown(destination, gate, now) }
}

/** A longer hold stays as it is, reason and all. */
export function hold(connection: Connection, destination: string, forMs: number, reason: PauseReason): void {
	const until = after(connection.now(), forMs)
	const before = stored(connection, destination) ?? NO_GATE
	if (until <= (before.heldUntil ?? 0)) return
	save(connection, destination, { ...before, heldUntil: until, reason, version: before.version + 1 })
}

/**
 * The bucket is counted in parts of a token, as many to a token as the interval has milliseconds: each millisecond then fills in
 * `limit` parts, and all is whole numbers.
 */
const FIND_BUCKET =
	'SELECT bucket_filled, bucket_interval, bucket_at FROM yaoki_outbox_destinations WHERE destination = ?'
const SAVE_BUCKET = `INSERT INTO yaoki_outbox_destinations (destination, bucket_filled, bucket_interval, bucket_at)
	VALUES (?, ?, ?, ?)
	ON CONFLICT (destination) DO UPDATE SET bucket_filled = excluded.bucket_filled, bucket_interval = excluded.bucket_interval,
		bucket_at = excluded.bucket_at`

function filled(connection: Connection, destination: string, rate: Rate, now: number): number {
	const most = rate.burst * rate.intervalMs
	const [parts = null, interval, at] = connection.row(FIND_BUCKET, destination) ?? []
	if (parts === null) return most
	// Another interval makes parts of another size.
	const inOurs =
		interval === rate.intervalMs
			? Number(parts)
			: Math.floor((Number(parts) / Number(interval)) * rate.intervalMs)
	// A clock that was set back fills nothing in, and takes nothing away.
	return Math.min(most, inOurs + Math.max(0, now - Number(at)) * rate.limit)
}

export function takeTokens(
	connection: Connection,
	destination: string,
	count: number,
	rate: Rate,
): TokenGrant {
	const now = connection.now()
	const parts = filled(connection, destination, rate, now)
	const granted = Math.max(0, Math.min(count, Math.floor(parts / rate.intervalMs)))
	const left = parts - granted * rate.intervalMs
	connection.run(SAVE_BUCKET, destination, left, rate.intervalMs, now)
	return { granted, inMs: granted < count ? Math.ceil((rate.intervalMs - left) / rate.limit) : 0 }
}

export function returnTokens(connection: Connection, destination: string, count: number, rate: Rate): void {
	const now = connection.now()
	const parts = filled(connection, destination, rate, now) + count * rate.intervalMs
	const left = Math.min(parts, rate.burst * rate.intervalMs)
	connection.run(SAVE_BUCKET, destination, left, rate.intervalMs, now)
}
