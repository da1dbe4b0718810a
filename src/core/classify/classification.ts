/**
 * What a failure means.
 *
 * - `throttled`: the other side asked for less. Wait as it says, then retry.
 * - `transient`: it may pass. Retry with backoff.
 * - `permanent`: the same call will fail again. Do not retry.
 * - `cancelled`: the caller, its deadline or the toolkit itself ended it. Not a failure of the other side.
 */
export type FailureKind = 'throttled' | 'transient' | 'permanent' | 'cancelled'

/** The answer of `classify`. */
export interface Classification {
	readonly kind: FailureKind
	/** False when nothing about the error was recognised; it then counts as transient. */
	readonly isKnown: boolean
	/** How long the other side asked to be left alone, if it did. */
	readonly retryAfterMs?: number | undefined
}

/**
 * A user's own knowledge about errors, in front of the toolkit's: answer, or ask `next`.
 *
 * @example
 * const classify: Classify = (error, next) =>
 *   error instanceof StockError ? { kind: 'permanent', isKnown: true } : next(error)
 */
export type Classifier = (error: unknown, next: (error: unknown) => Classification) => Classification
