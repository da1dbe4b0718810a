/**
 * One answer for every part: what does this failure mean? Judged by names, codes and statuses, not by `instanceof`, for
 * errors cross realms, bundles and copies of packages.
 */
import type { Classification, Classifier, FailureKind } from './classification.ts'
import { KINDS, NETWORK_FAILURE } from './codes.ts'
import { Clues } from './error-signals.ts'

export const CANCELLED: Classification = Object.freeze({ kind: 'cancelled', isKnown: true })

/** An outage says the same thing thousands of times. What a text means never changes, so the latest are kept. */
const meanings = new Map<string, FailureKind | 'unknown'>()
const MOST_MEANINGS = 100
const LONGEST_MEANING = 1_000

function meaningOf(text: string): FailureKind | 'unknown' {
	const kept = meanings.get(text)
	if (kept) return kept
	const kind = KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'unknown'
	if (meanings.size >= MOST_MEANINGS) meanings.clear()
	if (text.length < LONGEST_MEANING) meanings.set(text, kind)
	return kind
}

/**
 * What a failure means: `{ kind, known, retryAfterMs? }`.
 *
 * An AbortError counts as transient, unless `signal`, the caller's own, is aborted: then everything is `cancelled`.
 *
 * @example
 * classify(new HttpError(503)).kind // 'throttled'
 */
export function classify(
	error: unknown,
	options?: { readonly signal?: AbortSignal | undefined },
): Classification {
	if (options?.signal?.aborted) return CANCELLED
	try {
		const { text, retryAfterMs } = new Clues().add(error)
		const meaning = meaningOf(text)
		const isKnown = meaning !== 'unknown'
		const answer: Classification = { kind: isKnown ? meaning : 'transient', isKnown }
		return retryAfterMs === undefined ? answer : { ...answer, retryAfterMs }
	} catch {
		// A getter or a proxy of the error's own threw: nothing is known about it.
		return { kind: 'transient', isKnown: false }
	}
}

/** Puts a user's own classifier in front of the next one. */
export const extendClassifier = (
	own: Classifier | undefined,
	next: (error: unknown) => Classification,
): ((error: unknown) => Classification) => (own ? (error) => own(error, next) : next)

/** True only for what is known to be throttled or transient. An unknown error is not. */
export function isRetryable(error: unknown): boolean {
	const { kind, isKnown } = classify(error)
	return isKnown && (kind === 'throttled' || kind === 'transient')
}

/** Would a call that was answered with this HTTP status be worth repeating? */
export function isRetryableStatus(status: number): boolean {
	return isRetryable({ status })
}

/** Did the network fail (and not the server, the caller or the program)? */
export function isRetryableNetworkError(error: unknown): boolean {
	return isRetryable(error) && NETWORK_FAILURE.test(new Clues().add(error).text)
}
