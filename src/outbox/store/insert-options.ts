/** How messages are inserted: what all messages of an outbox share. */

/**
 * How long a dedupe key rejects further messages: a day. The whole retry schedule of a relay with default options takes less, even
 * if every response asks for the longest Retry-After.
 */
export const DEFAULT_DEDUPE_FOR_MS = 86_400_000

/** How long an expired key is kept whose message is still queued or dead, until it is checked again. */
export const HELD_KEY_MS = 3_600_000

/** How rows are inserted. For authors of stores: the third argument of `OutboxStore.insert`. */
export interface InsertOptions {
	/** How long a dedupe key is taken, from the time when its message is due. Default one day. */
	readonly dedupeForMs?: number | undefined
	/**
	 * Whether transactions that insert messages of the same destination and key wait for each other, so that messages of a key are
	 * committed in the order of their sequence numbers. Default true. Stores with one writer at a time ignore it.
	 */
	readonly lockKeys?: boolean | undefined
	/**
	 * If true and `tx` has no open transaction, nothing is written, and the result has `isInTransaction: false`. The store asks the database
	 * if the client does not expose it. Default false.
	 */
	readonly requiresTransaction?: boolean | undefined
}
