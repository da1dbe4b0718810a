import type { RandomSource } from '../backoff/formula.ts'

/** Jitter on top of the wait: a share of it, and at least this range. */
const JITTER_FACTOR = 0.25
const MIN_JITTER_MS = 100

/**
 * Returns the wait that a dependency asked for plus jitter, never less than it asked for. It may ask all
 * callers for the same wait; without jitter they would return together.
 */
export const addRetryAfterJitter = (waitMs: number, source: RandomSource): number =>
	waitMs + source.random() * Math.max(MIN_JITTER_MS, waitMs * JITTER_FACTOR)
