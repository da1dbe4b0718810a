/** Sums keys whose messages wait for one message. Stores find the keys, each in its own way. */
import { cappedCount } from './count-limits.ts'
import type { BlockedKey, BlockedKeys } from './store-stats.ts'

export const NOTHING_BLOCKED: BlockedKeys = {
	keys: { count: 0, isCapped: false },
	messages: { count: 0, isCapped: false },
	worst: null,
}

/** A message that blocks its key. */
export interface BlockingMessage {
	readonly destination: string
	readonly key: string
	readonly id: string
	/** When it became a dead letter, or was first due. */
	readonly since: number
	/** Messages behind it, counted up to one more than the limit. */
	readonly behind: number
}

/** Sums the keys of one destination. `isCut` if there may be more keys than were found. */
export function sumBlocked(
	found: readonly BlockingMessage[],
	limit: number,
	now: number,
	isCut: boolean,
): BlockedKeys {
	const keys = found
		.filter(({ behind }) => behind > 0)
		.map(
			({ key, id, since, behind }): BlockedKey => ({
				...{ key, id, forMs: Math.max(0, now - since), messages: cappedCount(behind, limit) },
			}),
		)
	if (keys.length === 0 && !isCut) return NOTHING_BLOCKED
	return {
		keys: { count: keys.length, isCapped: isCut },
		messages: {
			count: keys.reduce((sum, { messages }) => sum + messages.count, 0),
			isCapped: isCut || keys.some(({ messages }) => messages.isCapped),
		},
		worst: keys.reduce<BlockedKey | null>(
			(worst, one) => (worst !== null && worst.messages.count >= one.messages.count ? worst : one),
			null,
		),
	}
}
