/**
 * How far stores count. A figure that ends at a limit is cheap for one destination and dear for a thousand of them, so all of them together have a
 * limit as well: whoever looks at the figures every second must not be what the queue waits for.
 */
import type { CappedCount } from './store.ts'

/** More destinations than anybody looks at. */
export const MOST_DESTINATIONS = 1_000

/** From 0 on each number of attempts has a figure of its own; the last counts all that have had so many or more. */
export const MOST_ATTEMPTS = 10

/** The next hour, by five minutes. */
export const FORECAST_STEPS = 12
export const FORECAST_STEP_MS = 300_000

/** All destinations together are counted as far as so many alone. */
export const FULL_SHARES = 4
/** However many they are. */
export const LEAST_SHARE = 10

/** How far each of so many destinations is counted. */
export const shareOf = (limit: number, destinations: number): number =>
	Math.min(limit, Math.max(LEAST_SHARE, Math.floor((FULL_SHARES * limit) / Math.max(1, destinations))))

/** Of a count that went one further than it is told. */
export const counted = (found: number, limit: number): CappedCount => ({
	count: Math.min(found, limit),
	isCapped: found > limit,
})

/** A zero for each number of attempts. */
export const noAttempts = (): number[] => Array.from({ length: MOST_ATTEMPTS + 1 }, () => 0)

/** How many messages of a destination fall due in some five minutes of the next hour. */
export interface Slot {
	readonly step: number
	readonly count: number
	/** Was counting ended in it? Then there may be more in it, and in those after it. */
	readonly isCut: boolean
}

/** The slots of all destinations together. */
export function forecastOf(slots: Iterable<Slot>, limit: number): readonly CappedCount[] {
	const counts = Array.from({ length: FORECAST_STEPS }, () => 0)
	let cutAt = FORECAST_STEPS
	for (const { step, count, isCut } of slots) {
		counts[step] = (counts[step] ?? 0) + count
		if (isCut) cutAt = Math.min(cutAt, step)
	}
	return counts.map((count, step) => {
		const { isCapped, ...rest } = counted(count, limit)
		return { ...rest, isCapped: isCapped || step >= cutAt }
	})
}
