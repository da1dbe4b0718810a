/**
 * What is known since a circuit was last closed. Apart from the circuit, because a closed one needs none of it: most are
 * closed, most of the time, and they come by the ten thousand.
 */
import { delayMs } from '../backoff/delay.ts'
import type { Chance } from '../backoff/jitter.ts'
import type { CircuitSettings } from './options.ts'

export interface Outage {
	/** Infinity while isolated. */
	readonly until: number
	/** Of the backoff alone, for strategies that go on from it. */
	readonly delayMs: number
	readonly reopenings: number
	/** Of probes, in this half-open state. */
	successes: number
	rejected: number
	/** Handles of `isolate` that have not been released. */
	holders: number
	/** When each probe under way began, by its ticket, oldest first. */
	readonly probes: Map<number, number>
}

export const newOutage = (until: number, delayMs: number, reopenings: number, rejected = 0): Outage => ({
	until,
	delayMs,
	reopenings,
	successes: 0,
	rejected,
	holders: 0,
	probes: new Map(),
})

/** The first open time after a closed state, or one more after that of `before`. */
export function nextOutage(
	{ resetBackoff, resetTimeoutMs, maxRetryAfterMs }: CircuitSettings,
	before: Outage | undefined,
	at: number,
	retryAfterMs: number | undefined,
	chance: Chance,
): Outage {
	const reopenings = before ? before.reopenings + 1 : 0
	const delay = resetBackoff
		? delayMs(resetBackoff, reopenings, before?.delayMs ?? resetTimeoutMs, chance)
		: resetTimeoutMs
	const asked = Math.min(retryAfterMs ?? 0, maxRetryAfterMs)
	// Not Math.max: if NaN was asked for, the circuit would be open for no time at all.
	return newOutage(at + (asked > delay ? asked : delay), delay, reopenings, before?.rejected)
}
