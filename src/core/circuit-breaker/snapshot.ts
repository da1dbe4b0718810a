/**
 * A circuit as plain JSON, for a process that ends and one that begins. What comes back from a file or another version is
 * anybody's guess, so every field is checked before one is used: a NaN in an open time would end it at once. Times are
 * spans before or after the wall time `at`, for a monotonic clock means nothing in another process.
 */
import { computeDelayMs } from '../backoff/delay.ts'
import { checkRange, invalidOption, isAmount } from '../options/schema.ts'
import type { CircuitSettings } from './options.ts'
import type { SavedOutcomes } from './outcomes.ts'
import type { CircuitState } from './stats.ts'

/** What `snapshot()` gives and `restore()` takes. */
export interface CircuitSnapshot {
	readonly version: 1
	/** Wall time, milliseconds since 1970. */
	readonly at: number
	readonly state: CircuitState
	/** What is left of the open time. */
	readonly openForMs: number
	/** How often a probe has failed since the circuit was last closed. */
	readonly failedProbes: number
	/** The latest open time, as the backoff made it. */
	readonly delayMs: number
	/** How long ago each failure of the current streak was. */
	readonly failureAgesMs: readonly number[]
	/** Of a count window each call, oldest first, a digit each; of a time window how many there are of each outcome. */
	readonly outcomes: SavedOutcomes
}

const isWhole = (value: unknown): boolean => isAmount(value) && value % 1 === 0

/** Throws for whatever a circuit can not have written. */
export function checkSnapshot(snapshot: CircuitSnapshot): void {
	if (Object(snapshot) !== snapshot) invalidOption('snapshot', snapshot, 'an object')
	const { version, state, failureAgesMs, outcomes } = snapshot
	if (version !== 1) invalidOption('snapshot.version', version, '1')
	for (const name of ['at', 'openForMs', 'failedProbes', 'delayMs'] as const)
		checkRange(`snapshot.${name}`, snapshot[name])
	if (!isWhole(snapshot.failedProbes))
		invalidOption('snapshot.failedProbes', snapshot.failedProbes, 'a whole number')
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

/** Oldest first, whoever wrote the list, and no more than the rule can ask for; it is none when that rule is off. */
export const failureTimes = (
	{ failureAgesMs }: CircuitSnapshot,
	{ failureThreshold }: CircuitSettings,
	at: number,
): number[] =>
	failureAgesMs
		.toSorted((a, b) => b - a)
		.slice(failureThreshold < Infinity ? -failureThreshold : Infinity)
		.map((ageMs) => at - ageMs)

/** The longest that a circuit with these settings is ever open: what a snapshot says beyond that is a mistake. */
export function longestOpenMs({ resetBackoff, resetTimeoutMs, maxRetryAfterMs }: CircuitSettings): number {
	if (!resetBackoff) return Math.max(resetTimeoutMs, maxRetryAfterMs)
	const { maxDelayMs } = resetBackoff
	const atTheCap = { ...resetBackoff, growth: 'constant', baseDelayMs: maxDelayMs } as const
	return Math.max(computeDelayMs(atTheCap, 0, maxDelayMs, { random: () => 1 }), maxRetryAfterMs)
}
