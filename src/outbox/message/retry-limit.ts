/**
 * `maxRetries: Infinity` in a column of 32 bits. The largest number stands for it: code that does not know the convention, such as a query of
 * the user, compares it like any other limit and never reaches it. Null is taken, it means the destination's limit.
 */
export const UNLIMITED_RETRIES: number = 2 ** 31 - 1

/** The largest limit that is a number. */
export const MAX_RETRIES: number = UNLIMITED_RETRIES - 1

/** Returns the limit of a stored message; undefined if the destination's limit applies. */
export const toRetryLimit = (stored: number | null): number | undefined =>
	stored === UNLIMITED_RETRIES ? Infinity : (stored ?? undefined)
