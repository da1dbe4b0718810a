/**
 * The circuit of a destination that all relays share, with its pause. PostgreSQL evaluates `applyChange` and
 * `applyPause` in one statement each (postgres/circuits.ts); a test compares both with these functions.
 */
import type {
	CircuitChange,
	DestinationCircuit,
	OperatorChange,
	OperatorPause,
	RelayPauseReason,
} from '../rows.ts'
import { MAX_TIME, timeAfter } from '../stored-values.ts'

/** The pause of an operator as it is stored. */
interface StoredPause extends Omit<OperatorPause, 'pausedForMs'> {
	/** `MAX_TIME` for a pause without an end. */
	readonly until: number
}

/** A circuit as it is stored: absolute times. */
export interface CircuitRecord
	extends Omit<
		DestinationCircuit,
		'destination' | 'pausedForMs' | 'closedAgoMs' | 'operatorPause' | 'reason'
	> {
	readonly reason: RelayPauseReason | null
	/** Kept apart from the fields that relays change, so that no relay can end it. */
	readonly operatorPause: StoredPause | null
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
	operatorPause: null,
	failedProbes: 0,
	delayMs: 0,
	closedAt: null,
	version: 0,
}

/** Returns true if only a probe may claim. */
const isBlocked = ({ state, pausedUntil }: CircuitRecord, now: number): boolean =>
	state !== 'closed' || (pausedUntil ?? 0) > now

const isPausedByOperator = ({ operatorPause }: CircuitRecord, now: number): boolean =>
	(operatorPause?.until ?? 0) > now

/** Returns true if a claim yields messages. An operator's pause blocks probes too. */
export const admitsClaim = (record: CircuitRecord, isProbe: boolean, now: number): boolean =>
	!isPausedByOperator(record, now) && (isProbe || !isBlocked(record, now))

const latest = (...times: readonly (number | null | undefined)[]): number | null => {
	const known = times.filter((time) => typeof time === 'number')
	return known.length === 0 ? null : Math.max(...known)
}

/** Returns when traffic resumed or will resume: the later of closing and the end of the pause. A pause ends by itself. */
const resumedAt = ({ closedAt, pausedUntil }: CircuitRecord): number | null => latest(closedAt, pausedUntil)

export function toCircuit(destination: string, record: CircuitRecord, now: number): DestinationCircuit {
	const { pausedUntil, closedAt: _, operatorPause: stored, ...fields } = record
	const resumed = latest(resumedAt(record), stored?.until)
	const operatorPause = stored && isPausedByOperator(record, now) ? toOperatorPause(stored, now) : null
	return {
		destination,
		...fields,
		...(operatorPause && { reason: 'operator' }),
		operatorPause,
		pausedForMs: Math.max(0, (pausedUntil ?? 0) - now, operatorPause?.pausedForMs ?? 0),
		closedAgoMs: resumed === null ? null : Math.max(0, now - resumed),
	}
}

const toOperatorPause = ({ until, ...pause }: StoredPause, now: number): OperatorPause => ({
	...pause,
	pausedForMs: until >= MAX_TIME ? Infinity : until - now,
})

/** Returns the changed record, undefined if another change came first. */
export function applyChange(
	before: CircuitRecord,
	change: CircuitChange,
	now: number,
): CircuitRecord | undefined {
	if (before.version !== change.version) return undefined
	const { state, pausedForMs, reason, failedProbes, delayMs } = change
	return {
		...before,
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
	reason: RelayPauseReason,
	now: number,
): CircuitRecord | undefined {
	const pausedUntil = timeAfter(now, forMs)
	if (forMs <= 0 || pausedUntil <= (before.pausedUntil ?? 0)) return undefined
	return { ...before, pausedUntil, reason, version: before.version + 1 }
}

/** Returns the changed record, undefined if there is nothing to resume or to close. */
export function applyOperatorChange(
	before: CircuitRecord,
	change: OperatorChange,
	now: number,
): CircuitRecord | undefined {
	const version = before.version + 1
	switch (change.action) {
		case 'pause': {
			const { by, reason, forMs } = change
			const operatorPause = { by, reason, pausedAt: now, until: timeAfter(now, forMs) }
			return { ...before, operatorPause, version }
		}
		case 'resume':
			return isPausedByOperator(before, now)
				? { ...before, operatorPause: null, closedAt: now, version }
				: undefined
		case 'close-circuit': {
			const closed = { ...NO_CIRCUIT, operatorPause: before.operatorPause }
			return isBlocked(before, now) ? { ...closed, closedAt: now, version } : undefined
		}
	}
}
