/**
 * How much a destination is trusted that was away: one message at a time at first, then more and more, exponentially, as a server that comes
 * back has cold caches and a backlog from everybody else. All relays count from the same moment, which the database tells.
 */

/** How many messages may be in flight `sinceMs` after it was let through again. */
export function rampedLimit(concurrency: number, sinceMs: number, rampUpMs: number): number {
	if (sinceMs >= rampUpMs) return concurrency
	return Math.max(1, Math.floor(concurrency ** (sinceMs / rampUpMs)))
}
