/**
 * The circuit of a destination that all relays share, with its pause. PostgreSQL evaluates `applyChange` and `applyPause` in one statement
 * each (postgres/circuits.ts); a test compares both with these functions.
 */
import type { CircuitChange, DestinationCircuit, PauseReason } from '../rows.ts'
import { timeAfter } from '../time-after.ts'

/** A circuit as it is stored: absolute times. */
export interface CircuitRecord
	extends Omit<DestinationCircuit, 'destination' | 'pausedForMs' | 'closedAgoMs'> {
	/** End of the pause or of the open state. */
	readonly pausedUntil: number | null
	/** When the circuit was last closed after an outage. */
	readonly closedAt: number | null
	/** 0 for a record that exists only for its tokens. */
	readonly version: number
}

export const NO_CIRCUIT: CircuitRecord = {
	state: 'closed',
	pausedUntil: null,
	reason: null,
	failedProbes: 0,
	delayMs: 0,
	closedAt: null,
	version: 0,
}

/** Returns true if only a probe may claim. */
export const isBlocked = ({ state, pausedUntil }: CircuitRecord, now: number): boolean =>
	state !== 'closed' || (pausedUntil ?? 0) > now

/** Returns when traffic resumed or will resume: the later of closing and the end of the pause. A pause ends by itself. */
const resumedAt = ({ closedAt, pausedUntil }: CircuitRecord): number | null =>
	closedAt === null || pausedUntil === null ? (closedAt ?? pausedUntil) : Math.max(closedAt, pausedUntil)

export function toCircuit(destination: string, record: CircuitRecord, now: number): DestinationCircuit {
	const { pausedUntil, closedAt: _, ...fields } = record
	const resumed = resumedAt(record)
	return {
		destination,
		...fields,
		pausedForMs: Math.max(0, (pausedUntil ?? 0) - now),
		closedAgoMs: resumed === null ? null : Math.max(0, now - resumed),
	}
}

/** Returns the changed record, undefined if another change came first. */
export function applyChange(
	before: CircuitRecord,
	change: CircuitChange,
	now: number,
): CircuitRecord | undefined {
	if (before.version !== change.version) return undefined
	const { state, pausedForMs, reason, failedProbes, delayMs } = change
	return {
		state,
		pausedUntil: pausedForMs > 0 ? timeAfter(now, pausedForMs) : null,
		reason,
		failedProbes,
		delayMs,
		closedAt: state === 'closed' && isBlocked(before, now) ? now : resumedAt(before),
		version: before.version + 1,
	}
}

/** Returns the paused record, undefined if a longer pause is active. */
export function applyPause(
	before: CircuitRecord,
	forMs: number,
	reason: PauseReason,
	now: number,
): CircuitRecord | undefined {
	const pausedUntil = timeAfter(now, forMs)
	if (forMs <= 0 || pausedUntil <= (before.pausedUntil ?? 0)) return undefined
	return { ...before, pausedUntil, reason, version: before.version + 1 }
}
