/**
 * How far the stores count and search, and what the statistics of both databases share. A capped count is cheap
 * for one destination and expensive for a thousand, so all destinations together have a limit too: a dashboard
 * that reads the statistics every second must not slow down the queue.
 */
import type { BlockedKey, BlockedKeys, CappedCount, DestinationCounts } from './store-stats.ts'

/**
 * How many due messages of a destination are searched for claims. Relays claim messages in the order in which
 * they are due, so a claimed message is among the first, and comes nearer to the front while relays send the
 * messages before it. A message may be missed only if more than this many messages of blocked keys are before
 * it.
 */
export const MAX_SEARCHED = 20_000

export const MAX_DESTINATIONS = 1_000

/** Attempts are counted per number from 0; the last count includes all higher numbers. */
export const MAX_ATTEMPTS_COUNTED = 10

/** The next hour in steps of five minutes. */
export const FORECAST_STEPS = 12
export const FORECAST_STEP_MS = 300_000

/** All destinations together are counted up to this many times the limit of one. */
export const TOTAL_FACTOR = 2
/** Each destination is counted at least this far. */
export const MIN_LIMIT = 10

/** Limits the dead letters of all destinations whose blocked keys are counted, and the failed messages that are checked per destination. */
export const MAX_BLOCKING = 100
/** Messages that are counted behind one key. With many keys, each gets a share of a few times as many. */
export const MAX_BEHIND = 1_000
/** How many messages are read for what no index contains, such as attempts. */
export const MAX_SAMPLE = 1_000
/** A message blocks its key after this many failures, or if its retry is this far away. One failure with a short backoff is normal. */
export const BLOCKING_FAILURES = 2
export const BLOCKING_WAIT_MS = 60_000

/** Groups of dead letters are found one by one up to this many. With more, all dead letters are read. */
export const MAX_GROUPS = 5_000
const MAX_OF_GROUP = 10_000
const MAX_OF_GROUPS = 500_000

/** Returns how far each of `groups` groups of dead letters is counted. */
export const groupLimit = (groups: number): number =>
	Math.min(MAX_OF_GROUP, Math.floor(MAX_OF_GROUPS / groups))

/** Returns how far each of `destinations` destinations is counted. */
export const limitPerDestination = (limit: number, destinations: number): number =>
	Math.min(limit, Math.max(MIN_LIMIT, Math.floor((TOTAL_FACTOR * limit) / Math.max(1, destinations))))

/** Returns the capped count for rows that were counted up to `limit + 1`. */
export const cappedCount = (found: number, limit: number): CappedCount => ({
	count: Math.min(found, limit),
	isCapped: found > limit,
})

/**
 * Messages of one destination with the same number of attempts, among the first ones that were read. They show
 * attempts without a recorded failure, as in rows that were restored or changed by hand, and times that the
 * clock has not reached yet.
 */
export interface SampleRow {
	readonly destination: string
	/** At most `MAX_ATTEMPTS_COUNTED`. */
	readonly attempts: number
	readonly count: number
	readonly maxAttempts: number
	/** When the oldest message with attempts and without a recorded failure was enqueued. */
	readonly firstDue: number | null
	/** The latest recorded time. */
	readonly latest: number
}

export function countAttempts(sample: readonly SampleRow[]): readonly number[] {
	const counts = Array.from({ length: MAX_ATTEMPTS_COUNTED + 1 }, () => 0)
	for (const { attempts, count } of sample) counts[attempts] = (counts[attempts] ?? 0) + count
	return counts
}

/** What a store has counted of one destination, each up to one more than `limit`. Null if there is no such message. */
export interface FoundCounts {
	readonly destination: string
	readonly limit: number
	readonly due: number
	readonly lagMs: number | null
	readonly scheduled: number
	readonly nextDueInMs: number | null
	/** The oldest due messages, which were searched for messages in flight. */
	readonly scanned: number
	readonly inFlight: number
	readonly firstDue: number | null
	readonly failing: number
	readonly failedFirstDue: number | null
	readonly maxAttempts: number | null
	readonly dead: number
}

export function toDestinationCounts(
	found: FoundCounts,
	now: number,
	sample: readonly SampleRow[],
): Omit<DestinationCounts, 'blockedByDead' | 'blockedByRetry'> {
	const { destination, limit, lagMs, scanned, inFlight, firstDue, failedFirstDue, nextDueInMs } = found
	const own = sample.filter((row) => row.destination === destination)
	const firstTimes = [firstDue, failedFirstDue, ...own.map((row) => row.firstDue)].flatMap(
		(time) => time ?? [],
	)
	return {
		destination,
		due: cappedCount(found.due, limit),
		scheduled: cappedCount(found.scheduled, limit),
		// A search that reached its limit may have missed some.
		inFlight: { count: Math.min(inFlight, limit), isCapped: scanned > limit },
		dead: cappedCount(found.dead, limit),
		failing: cappedCount(found.failing, limit),
		maxAttempts: Math.max(found.maxAttempts ?? 0, ...own.map((row) => row.maxAttempts)),
		oldestLagMs: lagMs === null ? null : Math.max(0, lagMs),
		oldestAgeMs: firstTimes.length === 0 ? null : Math.max(0, now - Math.min(...firstTimes)),
		nextDueInMs,
	}
}

/** Messages of one destination that become due in one step of the forecast. */
export interface ForecastSlot {
	readonly step: number
	readonly count: number
	/** True if counting stopped in this step: there may be more messages in this step and in later ones. */
	readonly isCut: boolean
}

export function sumForecast(slots: Iterable<ForecastSlot>, limit: number): readonly CappedCount[] {
	const counts = Array.from({ length: FORECAST_STEPS }, () => 0)
	let cutAt = FORECAST_STEPS
	for (const { step, count, isCut } of slots) {
		counts[step] = (counts[step] ?? 0) + count
		if (isCut) cutAt = Math.min(cutAt, step)
	}
	return counts.map((found, step) => {
		const { count, isCapped } = cappedCount(found, limit)
		return { count, isCapped: isCapped || step >= cutAt }
	})
}

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
				key,
				id,
				forMs: Math.max(0, now - since),
				messages: cappedCount(behind, limit),
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
