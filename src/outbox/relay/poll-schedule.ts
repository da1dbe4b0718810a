/**
 * Decides when to poll for messages without a notification. LISTEN has no effect through a pooler in
 * transaction mode, and a database that is unreachable for a moment loses notifications. So a poll that finds
 * a message that has been due for a while is followed by others in short intervals, and each that finds none
 * makes the interval longer. A relay that is idle or notified polls once per `pollMs`.
 */

import type { ClaimResult, ClaimTarget } from '../store/rows.ts'

/** Also how long a message must have been due: a notification takes a few milliseconds. */
const MIN_POLL_MS = 50
const GROWTH = 1.25

export class PollSchedule {
	readonly #maxMs: number
	#intervalMs: number
	nextAt: number = -Infinity

	constructor(maxMs: number) {
		this.#maxMs = maxMs
		// Short at first, because it is not known yet whether notifications arrive.
		this.#intervalMs = Math.min(MIN_POLL_MS, maxMs)
	}

	/** A scan starts, because of the poll or earlier. */
	recordScan(now: number): void {
		this.nextAt = now + this.#intervalMs
	}

	/** A poll found messages of which the oldest had been due for `lagMs`; undefined if it found none. */
	recordPoll(now: number, lagMs: number | undefined): void {
		const isLate = lagMs !== undefined && lagMs >= MIN_POLL_MS
		this.#intervalMs = Math.min(isLate ? MIN_POLL_MS : this.#intervalMs * GROWTH, this.#maxMs)
		this.nextAt = now + this.#intervalMs
	}
}

/**
 * Returns how long the oldest message that the scan found has been due; undefined if there is none. Retries
 * are found at their time without a notification, and the messages of a free key had to wait for it.
 */
export function longestLag({ rows, now }: ClaimResult, targets: readonly ClaimTarget[]): number | undefined {
	const keysOf = new Map(targets.map(({ destination, keys }) => [keys && destination, new Set(keys)]))
	let lagMs: number | undefined
	for (const { attempt, dueAt, destination, key } of rows)
		if (attempt === 1 && (key === null || !keysOf.get(destination)?.has(key)))
			lagMs = Math.max(lagMs ?? 0, now - dueAt)
	return lagMs
}
