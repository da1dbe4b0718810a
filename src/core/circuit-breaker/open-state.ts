/**
 * What is known since a circuit was last closed. Apart from the circuit, because a closed one needs none of it: most are
 * closed, most of the time, and they come by the ten thousand.
 */
import { computeDelayMs } from '../backoff/delay.ts'
import type { RandomSource } from '../backoff/jitter.ts'
import type { CircuitSettings } from './options.ts'

export interface OpenState {
	/** Infinity while isolated. */
	readonly until: number
	/** Of the backoff alone, for strategies that go on from it. */
	readonly delayMs: number
	readonly failedProbes: number
	/** Of probes, in this half-open state. */
	successes: number
	rejected: number
	/** Handles of `isolate` that have not been released. */
	isolations: number
	/** When each probe under way began, by its ticket, oldest first. */
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

/** The first open time after a closed state, or one more after that of `before`. */
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
	// Not Math.max: if NaN was asked for, the circuit would be open for no time at all.
	return createOpenState(at + (asked > delay ? asked : delay), delay, failedProbes, before?.rejected)
}
