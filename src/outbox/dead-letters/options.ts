/** Options and results of operations on dead letters. */
import { checkNames, invalidOption } from '../../core/options/schema.ts'
import { checkLimit, isMessageId, PAGE_SIZE } from '../message/filter.ts'
import type { DeadLetterCause } from '../message/message.ts'
import type { OperatorOptions } from '../operator/operator.ts'

/** Selects a page of a list. */
export interface PageOptions {
	/** Maximum number of messages. Default 100. */
	readonly limit?: number | undefined
	/** The id of the last message of the previous page. */
	readonly after?: string | undefined
}

/** Limits a count or a list of groups. */
export type LimitOptions = Pick<PageOptions, 'limit'>

export function readPage(options: PageOptions): PageOptions & { readonly limit: number } {
	checkNames(options, { limit: 'any', after: 'any' })
	const { limit = PAGE_SIZE, after } = options
	checkLimit(limit)
	if (after !== undefined && !isMessageId(after)) invalidOption('after', after, 'a message id')
	return { limit, after: after?.toLowerCase() }
}

export function readLimit(options: LimitOptions, defaultLimit: number): number {
	checkNames(options, { limit: 'any' })
	const { limit = defaultLimit } = options
	checkLimit(limit)
	return limit
}

/** Options of operations that run in batches. */
export interface BatchOptions extends OperatorOptions {
	/** Required for a filter without conditions, which matches every dead letter. Default false. */
	readonly all?: boolean | undefined
	/**
	 * Called after every batch with the number of messages processed so far. An exception is reported as a
	 * console warning.
	 */
	readonly onProgress?: ((progress: { readonly done: number }) => void) | undefined
	/**
	 * Stops before the next batch, or ends the wait of a canary. The report says how many messages were
	 * processed until then.
	 */
	readonly signal?: AbortSignal | undefined
}

/** Rejects a signal that cannot be observed, because the caller could not stop the operation. */
export function checkSignal(signal: unknown): void {
	const { aborted } = Object(signal) as Partial<AbortSignal>
	if (signal !== undefined && typeof aborted !== 'boolean') invalidOption('signal', signal, 'an AbortSignal')
}

/** Options of `replay`. */
export interface ReplayOptions extends BatchOptions {
	/**
	 * Replays 1 message, then 10, then the rest, and stops if one of the first fails as before. Default false.
	 */
	readonly canary?: boolean | undefined
	/** How long a canary waits for the results of its messages. Default 60,000. */
	readonly timeoutMs?: number | undefined
}

/** What stopped a replay. */
type ReplayStop =
	/** At least one message failed with the same error as before. */
	| 'same-failure'
	/** At least one message became a dead letter again, for another reason. */
	| 'dead-again'
	/** The messages of the canary had no result within `timeoutMs`. */
	| 'timeout'
	/** The caller's signal was aborted. */
	| 'abort'

/**
 * What `outbox.dead.replay()` returns: how many messages are in the queue again, and what stopped it, if
 * something did.
 */
export interface ReplayReport {
	/** The number of messages that were returned to the queue. */
	readonly replayed: number
	/** True if it stopped before all matching messages were replayed. */
	readonly stopped: boolean
	/** What stopped it; undefined if nothing did. */
	readonly stoppedBy: ReplayStop | undefined
	/** The same as a sentence, with advice. */
	readonly reason: string | undefined
	/** The ids of the canary's messages that failed as before. */
	readonly sameFailure: readonly string[]
}

/** The result of `discard`. */
export interface DiscardReport {
	readonly discarded: number
	/** True if the caller's signal stopped it before all matching messages were discarded. */
	readonly stopped: boolean
}

/**
 * Dead letters with the same kind of failure at the same destination, and how many they are.
 * `outbox.dead.groups()` returns a list of them.
 */
export interface DeadLetterGroup {
	/** Selects this kind of failure in a filter; together with `cause` and `destination` exactly this group. */
	readonly fingerprint: string
	readonly cause: DeadLetterCause
	readonly destination: string
	readonly errorType: string | undefined
	readonly errorMessage: string | undefined
	readonly count: number
	/** True if counting stopped there, at 10,000 or fewer: the group may have more. */
	readonly isCapped: boolean
	readonly firstAt: Date
	readonly lastAt: Date
	/** The id of the oldest message of the group. */
	readonly exampleId: string
}

/** Changes to a dead letter before it is replayed. Null removes a value. */
export interface DeadLetterChanges {
	readonly payload?: unknown
	readonly headers?: Readonly<Record<string, string>> | null | undefined
	readonly destination?: string | undefined
	readonly expiresAt?: Date | null | undefined
	readonly maxRetries?: number | null | undefined
}
