/**
 * What a circuit knows since it was last closed. A separate object, because a closed circuit needs none of
 * it, and most of ten thousand circuits are closed.
 */

import { computeDelayMs, type RandomSource } from '../backoff/formula.ts'
import { YaokiError } from '../errors/errors.ts'
import type { CircuitState } from '../events/events.ts'
import type { CircuitSettings } from './options.ts'

export interface OpenState {
	/** Infinity while isolated. */
	until: number
	/** The open time that the backoff computed, for strategies that continue from it. */
	readonly delayMs: number
	readonly failedProbes: number
	/** The last error that opened the circuit, as the options of the errors of rejected calls. */
	readonly cause: ErrorOptions | undefined
	/** Successful and failed probes in this half-open state. */
	successes: number
	failures: number
	rejected: number
	/** When each probe in flight began, by its ticket, oldest first. */
	readonly probes: Map<number, number>
	readonly isolation: Isolation | undefined
}

/** What an isolation found, and its release restores. */
export interface Isolation {
	/** Handles of `isolate` that are not released. */
	handles: number
	state: CircuitState
	openState: OpenState | undefined
}

export const createOpenState = (
	until: number,
	delayMs: number,
	failedProbes: number,
	rejected = 0,
	cause?: ErrorOptions,
	isolation?: Isolation,
): OpenState => ({
	until,
	delayMs,
	failedProbes,
	cause,
	successes: 0,
	failures: 0,
	rejected,
	probes: new Map(),
	isolation,
})

/** Returns the first open state after a closed one, or the next one after `before`. */
export function nextOpenState(
	{ resetBackoff, resetTimeoutMs, maxRetryAfterMs }: CircuitSettings,
	before: OpenState | undefined,
	at: number,
	retryAfterMs: number | undefined,
	source: RandomSource,
	error?: unknown,
): OpenState {
	const failedProbes = before ? before.failedProbes + 1 : 0
	const delay = resetBackoff
		? computeDelayMs(resetBackoff, failedProbes, before?.delayMs ?? resetBackoff.baseDelayMs, source)
		: resetTimeoutMs
	const asked = Math.min(retryAfterMs ?? 0, maxRetryAfterMs)
	// A hung or slow probe, and a result that counts as a failure, have no error: the last one stays.
	const cause = error === undefined ? before?.cause : { cause: shareable(error) }
	// Not Math.max: with NaN the circuit would not be open at all.
	return createOpenState(at + (asked > delay ? asked : delay), delay, failedProbes, before?.rejected, cause)
}

/** Returns what other callers may see of an error: their calls are rejected with it as the cause. */
const shareable = (error: unknown): unknown => (error instanceof YaokiError ? error.toCause() : error)
