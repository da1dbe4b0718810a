/**
 * What a circuit knows since it was last closed. A separate object, because a closed circuit needs none of it, and
 * most of ten thousand circuits are closed.
 */

import type { RandomSource } from '../backoff/formula.ts'
import { computeDelayMs } from '../backoff/formula.ts'
import type { CircuitSettings } from './options.ts'

export interface OpenState {
	/** Infinity while isolated. */
	readonly until: number
	/** The open time that the backoff computed, for strategies that continue from it. */
	readonly delayMs: number
	readonly failedProbes: number
	/** Successful probes in this half-open state. */
	successes: number
	rejected: number
	/** Handles of `isolate` that are not released. */
	isolations: number
	/** When each probe in flight began, by its ticket, oldest first. */
	readonly probes: Map<number, number>
}

export const createOpenState = (
	until: number,
	delayMs: number,
	failedProbes: number,
	rejected = 0,
): OpenState => ({
	until,
	delayMs,
	failedProbes,
	successes: 0,
	rejected,
	isolations: 0,
	probes: new Map(),
})

/** Returns the first open state after a closed one, or the next one after `before`. */
export function nextOpenState(
	{ resetBackoff, resetTimeoutMs, maxRetryAfterMs }: CircuitSettings,
	before: OpenState | undefined,
	at: number,
	retryAfterMs: number | undefined,
	source: RandomSource,
): OpenState {
	const failedProbes = before ? before.failedProbes + 1 : 0
	const delay = resetBackoff
		? computeDelayMs(resetBackoff, failedProbes, before?.delayMs ?? resetTimeoutMs, source)
		: resetTimeoutMs
	const asked = Math.min(retryAfterMs ?? 0, maxRetryAfterMs)
	// Not Math.max: with NaN the circuit would not be open at all.
	return createOpenState(at + (asked > delay ? asked : delay), delay, failedProbes, before?.rejected)
}
