/**
 * Limits of counting. A capped count is cheap for one destination and expensive for a thousand, so all destinations together have a limit too:
 * a dashboard that reads the statistics every second must not slow down the queue.
 */
import type { CappedCount } from './store-stats.ts'

export const MAX_DESTINATIONS = 1_000

/** Attempts are counted per number from 0; the last count includes all higher numbers. */
export const MAX_ATTEMPTS_COUNTED = 10

/** The next hour in steps of five minutes. */
export const FORECAST_STEPS = 12
export const FORECAST_STEP_MS = 300_000

/** All destinations together are counted up to this many times the limit of one. */
export const TOTAL_FACTOR = 4
/** Each destination is counted at least this far. */
export const MIN_LIMIT = 10

/** Blocking dead letters whose keys are counted over all destinations, and oldest failed messages of a destination that may block their key. */
export const MAX_BLOCKING = 100
/** Messages behind one key that are counted, and with many keys a share of a few times as many. */
export const MAX_BEHIND = 1_000
/** How many messages are read for what no index contains, such as attempts. */
export const MAX_SAMPLE = 1_000
/** A first failure with a short backoff is normal. A message blocks its key from this many failures on, or if its retry is this far away. */
export const BLOCKING_FAILURES = 2
export const BLOCKING_WAIT_MS = 60_000

/** Returns how far each of `destinations` destinations is counted. */
export const limitPerDestination = (limit: number, destinations: number): number =>
	Math.min(limit, Math.max(MIN_LIMIT, Math.floor((TOTAL_FACTOR * limit) / Math.max(1, destinations))))

/** Returns the capped count for rows that were counted up to `limit + 1`. */
export const cappedCount = (found: number, limit: number): CappedCount => ({
	count: Math.min(found, limit),
	isCapped: found > limit,
})

export const emptyAttempts = (): number[] => Array.from({ length: MAX_ATTEMPTS_COUNTED + 1 }, () => 0)

/** Messages of one destination that become due in one step of the forecast. */
export interface ForecastSlot {
	readonly step: number
	readonly count: number
	/** True if counting stopped in this step: there may be more in it and in later ones. */
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
