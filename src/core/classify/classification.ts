import type { Hook } from '../options/hooks.ts'

/**
 * What a failure means. Read it as `classify(error).kind`.
 *
 * - `throttled`: the dependency asked for fewer requests. Wait as long as it says, then retry.
 * - `transient`: the failure may be temporary. Retry with backoff.
 * - `permanent`: the same call will fail again. Do not retry.
 * - `cancelled`: the caller, its deadline or a policy ended the call. The dependency did not fail.
 */
export type FailureKind = 'throttled' | 'transient' | 'permanent' | 'cancelled'

/**
 * What `classify` returns: the kind of a failure, and how long to wait if the dependency said so. A
 * `Classifier` returns it too.
 */
export interface Classification {
	readonly kind: FailureKind
	/** False if nothing about the error was recognized; the kind is then `transient`. */
	readonly isKnown: boolean
	/** The wait that the dependency asked for, if any. */
	readonly retryAfterMs?: number | undefined
}

export const CANCELLED: Classification = /* @__PURE__ */ Object.freeze({ kind: 'cancelled', isKnown: true })

/**
 * Your own classifier of errors, for the option `classify` of a policy or client. Return a classification, or
 * call `next` for the package's one.
 *
 * @example
 * const classifier: Classifier = (error, next) =>
 *   error instanceof StockError ? { kind: 'permanent', isKnown: true } : next(error)
 */
export type Classifier = Hook<[error: unknown, next: (error: unknown) => Classification], Classification>
