/**
 * A circuit as plain JSON, from a process that ends to one that starts. A snapshot from a file or from another
 * version may contain anything, so every field is validated before one is used: a NaN would end an open time
 * immediately. Times are relative to the wall time `at`, because a monotonic clock means nothing in another process.
 */
import type { CircuitState } from '../events/events.ts'
import { checkRange, invalidOption, isAmount } from '../options/schema.ts'
import type { CircuitSettings } from './options.ts'
import type { SavedOutcomes } from './outcomes.ts'

/** What `snapshot()` returns and `restore()` takes. */
export interface CircuitSnapshot {
	readonly version: 1
	/** Wall time, milliseconds since 1970. */
	readonly at: number
	/** Of an isolated circuit, the state that its release restores. */
	readonly state: Exclude<CircuitState, 'isolated'>
	/** The rest of the open time. */
	readonly openForMs: number
	/** The number of failed probes since the circuit was last closed. */
	readonly failedProbes: number
	/** The last open time that the backoff computed. */
	readonly delayMs: number
	/** The age of each consecutive failure. */
	readonly failureAgesMs: readonly number[]
	/** For a count window each call, oldest first, one digit each; for a time window the number of each outcome. */
	readonly outcomes: SavedOutcomes
}

const isWhole = (value: unknown): boolean => isAmount(value) && value % 1 === 0

/** Throws if the snapshot cannot come from a circuit. */
export function checkSnapshot(snapshot: CircuitSnapshot): void {
	if (Object(snapshot) !== snapshot) invalidOption('snapshot', snapshot, 'an object')
	const { version, state, failureAgesMs, outcomes } = snapshot
	if (version !== 1) invalidOption('snapshot.version', version, '1')
	for (const name of ['at', 'openForMs', 'failedProbes', 'delayMs'] as const)
		checkRange(`snapshot.${name}`, snapshot[name])
	if (!isWhole(snapshot.failedProbes))
		invalidOption('snapshot.failedProbes', snapshot.failedProbes, 'an integer')
	if (!['closed', 'open', 'half-open'].includes(state))
		invalidOption('snapshot.state', state, 'one of closed, open, half-open')
	if (!Array.isArray(failureAgesMs) || !failureAgesMs.every(isAmount))
		invalidOption('snapshot.failureAgesMs', failureAgesMs, 'a list of milliseconds')
	if (
		typeof outcomes === 'string'
			? /[^0-3]/.test(outcomes)
			: !Array.isArray(outcomes) || outcomes.length !== 4 || !outcomes.every(isWhole)
	)
		invalidOption('snapshot.outcomes', outcomes, 'digits from 0 to 3, or a list of four counts')
}

/** Returns the times of the failures, oldest first, at most as many as the rule needs; none if that rule is off. */
export const failureTimes = (
	{ failureAgesMs }: CircuitSnapshot,
	{ failureThreshold }: CircuitSettings,
	at: number,
): number[] =>
	failureAgesMs
		.toSorted((a, b) => b - a)
		.slice(failureThreshold < Infinity ? -failureThreshold : Infinity)
		.map((ageMs) => at - ageMs)

/** Returns the longest time that a circuit with these settings is open. A longer time in a snapshot is a mistake. */
export const longestOpenMs = ({ resetTimeoutMs, maxRetryAfterMs }: CircuitSettings): number =>
	Math.max(resetTimeoutMs, maxRetryAfterMs)
