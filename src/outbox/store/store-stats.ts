/** What a store counts, for `stats` and `check`. */

/** A count that stops at a limit. For authors of stores: `OutboxStore.countDead` returns it; users get it from `outbox.dead.count()`. */
export interface CappedCount {
	readonly count: number
	/** True if counting stopped at the limit: there may be more. */
	readonly isCapped: boolean
}

/** A key whose messages wait for one message. */
export interface BlockedKey {
	readonly key: string
	/** Id of the message that the others wait for. */
	readonly id: string
	/** Time since it became a dead letter, or since it was first due. */
	readonly forMs: number
	/** Messages that wait for it. */
	readonly messages: CappedCount
}

/** Keys whose messages wait for one that is not sent. */
export interface BlockedKeys {
	/** Keys with at least one waiting message. */
	readonly keys: CappedCount
	/** Waiting messages of all these keys. */
	readonly messages: CappedCount
	/** The counted key with most waiting messages; null if there is none. */
	readonly worst: BlockedKey | null
}

/**
 * How many messages of one destination are due, scheduled, in flight or dead, and which keys are blocked. For
 * authors of stores: an element of `destinations` in what `OutboxStore.stats` returns.
 */
export interface DestinationCounts {
	readonly destination: string
	readonly due: CappedCount
	readonly scheduled: CappedCount
	readonly inFlight: CappedCount
	readonly dead: CappedCount
	/** Queued messages whose latest attempt failed, including those in flight again. */
	readonly failing: CappedCount
	/** The most attempts that a counted message has made; the oldest failed messages are counted first. */
	readonly maxAttempts: number
	/** How long the oldest due message has been due; null if none is. */
	readonly oldestLagMs: number | null
	/**
	 * Time since the oldest message was first due: when it was enqueued, at its `notBefore`, or when it was
	 * replayed. Includes messages in flight and those that wait for a retry, but not those that are scheduled
	 * and were never attempted. Null if there is none.
	 */
	readonly oldestAgeMs: number | null
	/** Keys behind a dead letter that blocks them. */
	readonly blockedByDead: BlockedKeys
	/**
	 * Keys whose first message has failed twice, or waits at least a minute for its retry. A destination that
	 * does not keep order sends the others meanwhile; the store does not know.
	 */
	readonly blockedByRetry: BlockedKeys
	/** Time until the next scheduled message is due; null if none is scheduled. */
	readonly nextDueInMs: number | null
}

/** The counts behind `outbox.stats()`. For authors of stores: `OutboxStore.stats` returns it. */
export interface StoreStats {
	/** The database's time. */
	readonly now: number
	readonly destinations: readonly DestinationCounts[]
	/** True if there are more destinations than were counted. */
	readonly hasMoreDestinations: boolean
	/** Number of counted messages by attempts made, from 0. The last element counts all messages with that many attempts or more. */
	readonly attempts: readonly number[]
	/** Number of messages that become due in each five minutes of the next hour. */
	readonly forecast: readonly CappedCount[]
	/** How far the clock is behind a time that it recorded earlier in the counted messages or for a relay: it was set back. Otherwise 0. */
	readonly clockBehindMs: number
}
