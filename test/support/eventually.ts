import { vi } from 'vitest'

/** A little less than the time limit of a slow test, so that its failure names the state. The limit of a fast test is shorter and ends it. */
const PATIENCE = { timeout: 110_000, interval: 20 }

/**
 * Waits until `check` no longer throws, and returns its result. There is no shorter limit: how long a state takes depends on the machine. The
 * state must be one that stays, because a state that passes can be missed.
 */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, PATIENCE)

/** The same for a condition, without the message of an assertion. */
export const eventuallyTrue = (condition: () => boolean | Promise<boolean>): Promise<boolean> =>
	vi.waitUntil(condition, PATIENCE)
