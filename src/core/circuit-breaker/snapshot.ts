/**
 * A circuit as plain JSON, from a process that ends to one that starts. A snapshot from a file or from
 * another version may contain anything, so every field is validated before one is used: a NaN would end an
 * open time immediately. Times are relative to the wall time `at`, because a monotonic clock means nothing in
 * another process.
 */
import type { RandomSource } from '../backoff/formula.ts'
import type { CircuitState } from '../events/events.ts'
import { checkAmount, invalidArgument, isAmount, MAX_NUMBER } from '../options/schema.ts'
import type { Circuit } from './circuit.ts'
import { createOpenState } from './open-state.ts'
import type { CircuitSettings } from './options.ts'
import { openWindow, type SavedOutcomes, saveOutcomes } from './outcomes.ts'

/**
 * The state of a circuit breaker as plain JSON. Save what `snapshot()` of a `CircuitBreaker` returns before a
 * process ends, and pass it to `restore()` in the next one.
 */
export interface CircuitSnapshot {
	readonly version: 1
	/** Wall time, milliseconds since 1970. */
	readonly at: number
	/** The state, or for an isolated circuit the state that its release restores. */
	readonly state: Exclude<CircuitState, 'isolated'>
	/** The rest of the open time. */
	readonly openForMs: number
	/** The number of failed probes since the circuit was last closed. */
	readonly failedProbes: number
	/** The last open time that the backoff computed. */
	readonly delayMs: number
	/** The age of each consecutive failure. */
	readonly failureAgesMs: readonly number[]
	/** Count window: one digit per call, oldest first. Time window: the number of each outcome. */
	readonly outcomes: SavedOutcomes
}

/**
 * Returns the state of a circuit. An isolated circuit is saved with the state that its release would restore:
 * its handles do not survive the process, and nothing else could release it.
 */
export function takeSnapshot(
	circuit: Circuit,
	now: number,
	wallNow: number,
	source: RandomSource,
): CircuitSnapshot {
	circuit.expireProbe(now, source)
	circuit.flushPendingSuccesses(now)
	const { state, openState } = circuit.openState?.isolation ?? circuit
	return {
		version: 1,
		at: wallNow,
		state: state === 'isolated' ? 'closed' : state,
		openForMs: openState ? Math.max(0, openState.until - now) : 0,
		failedProbes: openState?.failedProbes ?? 0,
		delayMs: openState?.delayMs ?? 0,
		failureAgesMs: circuit.failures?.map((at) => now - at) ?? [],
		outcomes: saveOutcomes(circuit.outcomes, now),
	}
}

/**
 * Restores the state of another circuit, aged by the wall clock. A clock that jumped back ages nothing, one
 * that jumped ahead ages everything. Half-open is restored as open with no wait left, because its probes are
 * gone. An isolated circuit stays isolated, and its release restores this state.
 */
export function restoreSnapshot(
	circuit: Circuit,
	snapshot: CircuitSnapshot,
	now: number,
	wallNow: number,
): void {
	checkSnapshot(snapshot)
	const { settings } = circuit
	const passedMs = Math.max(0, wallNow - snapshot.at)
	const { state, openForMs, delayMs, failedProbes, outcomes } = snapshot
	// A longer open time than these settings allow is a mistake.
	const longestOpenMs = Math.max(settings.resetTimeoutMs, settings.maxRetryAfterMs)
	const until = now + Math.max(0, Math.min(openForMs, longestOpenMs) - passedMs)
	const isClosed = state === 'closed'
	circuit.replaceState(
		isClosed ? state : 'open',
		isClosed ? undefined : createOpenState(until, delayMs, failedProbes),
		openWindow(settings, outcomes, now - passedMs),
		failureTimes(snapshot, settings, now - passedMs),
	)
}

const isWhole = (value: unknown): boolean => isAmount(value) && value % 1 === 0

/** Throws if the snapshot cannot come from a circuit. */
function checkSnapshot(snapshot: CircuitSnapshot): void {
	if (Object(snapshot) !== snapshot) invalidArgument('snapshot', snapshot, 'an object')
	const { version, state, failureAgesMs, outcomes } = snapshot
	if (version !== 1) invalidArgument('snapshot.version', version, '1')
	for (const name of ['at', 'openForMs', 'delayMs'] as const) checkAmount(`snapshot.${name}`, snapshot[name])
	checkAmount('snapshot.failedProbes', snapshot.failedProbes, MAX_NUMBER, 'integer')
	if (!['closed', 'open', 'half-open'].includes(state))
		invalidArgument('snapshot.state', state, 'closed, open or half-open')
	if (!Array.isArray(failureAgesMs) || !failureAgesMs.every(isAmount))
		invalidArgument('snapshot.failureAgesMs', failureAgesMs, 'a list of milliseconds')
	if (
		typeof outcomes === 'string'
			? /[^0-3]/.test(outcomes)
			: !Array.isArray(outcomes) || outcomes.length !== 4 || !outcomes.every(isWhole)
	)
		invalidArgument('snapshot.outcomes', outcomes, 'digits from 0 to 3, or a list of four counts')
}

/** Returns the times of the failures that the rule needs, oldest first; none if the rule is off. */
const failureTimes = (
	{ failureAgesMs }: CircuitSnapshot,
	{ failureThreshold }: CircuitSettings,
	at: number,
): number[] =>
	failureAgesMs
		.toSorted((a, b) => b - a)
		.slice(failureThreshold < Infinity ? -failureThreshold : Infinity)
		.map((ageMs) => at - ageMs)
