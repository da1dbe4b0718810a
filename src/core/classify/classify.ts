/**
 * One classifier for every part of the package. It matches names, codes and statuses instead of using
 * `instanceof`, because errors cross realms, bundles and copies of packages.
 */

import type { Runtime } from '../runtime/runtime.ts'
import { CANCELLED, type Classification, type Classifier, type FailureKind } from './classification.ts'
import { KINDS, NETWORK_FAILURE } from './codes.ts'
import { readSignals } from './error-signals.ts'

/** The kinds of the latest texts: during an outage the same error occurs thousands of times. */
const kindCache = new Map<string, FailureKind | 'unknown'>()
const MAX_CACHED_TEXTS = 100
const MAX_CACHED_LENGTH = 1_000

function findKind(text: string): FailureKind | 'unknown' {
	const cached = kindCache.get(text)
	if (cached) return cached
	// A client's own `retryable: true` overrides what its codes say, but not `permanent()`, which comes first
	// in the list.
	const first = /^retryable$/m.test(text)
		? KINDS.filter(([kind], index) => index < 2 || kind !== 'permanent')
		: KINDS
	const kind = first.find(([, pattern]) => pattern.test(text))?.[0] ?? 'unknown'
	if (kindCache.size >= MAX_CACHED_TEXTS) kindCache.clear()
	if (text.length < MAX_CACHED_LENGTH) kindCache.set(text, kind)
	return kind
}

/**
 * Returns what a failure means: `{ kind, isKnown, retryAfterMs? }`.
 *
 * `signal` is the caller's own. If it is aborted, every error is `cancelled`; otherwise an AbortError is
 * `transient`. `runtime` has the clock for a Retry-After that is a date. Default: the system's.
 *
 * @example
 * classify(new HttpError(503)).kind // => 'throttled'
 */
export function classify(
	error: unknown,
	options?: { readonly signal?: AbortSignal | undefined; readonly runtime?: Runtime | undefined },
): Classification {
	if (options?.signal?.aborted) return CANCELLED
	try {
		const { text, retryAfterMs } = readSignals(error, options?.runtime)
		const kind = findKind(text)
		const isKnown = kind !== 'unknown'
		return {
			kind: isKnown ? kind : 'transient',
			isKnown,
			...(retryAfterMs !== undefined && { retryAfterMs }),
		}
	} catch {
		// A getter or a proxy of the error threw.
		return { kind: 'transient', isKnown: false }
	}
}

/** Returns a function that asks the user's classifier first, if there is one, and `next` otherwise. */
export const extendClassifier = (
	own: Classifier | undefined,
	next: (error: unknown) => Classification,
): ((error: unknown) => Classification) => (own ? (error) => own(error, next) : next)

/**
 * Returns true if the error is known to be throttled or transient. Unknown errors return false. Use it as
 * `shouldRetry` to retry known errors only.
 *
 * @example
 * const policy = retry({ shouldRetry: isRetryable })
 */
export function isRetryable(error: unknown): boolean {
	const { kind, isKnown } = classify(error)
	return isKnown && (kind === 'throttled' || kind === 'transient')
}

/**
 * Returns true if a request that got this HTTP status is worth retrying. Use it where there is no error to
 * pass to `isRetryable`.
 *
 * @example
 * isRetryableStatus(503) // => true
 */
export function isRetryableStatus(status: number): boolean {
	return isRetryable({ status })
}

/**
 * Returns true if the connection failed or broke, for example ECONNRESET or a DNS failure. Use it as
 * `shouldRetry` to retry these errors only.
 *
 * @example
 * const policy = retry({ shouldRetry: isRetryableNetworkError })
 */
export function isRetryableNetworkError(error: unknown): boolean {
	return isRetryable(error) && NETWORK_FAILURE.test(readSignals(error).text)
}
