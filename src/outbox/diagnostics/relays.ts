/** What relays report by heartbeats: that they are alive, what they serve, what is in flight. */
import { servesBy } from '../../text/name-pattern.ts'
import type { RelayRow } from '../store/rows.ts'
import type { CappedCount, DestinationCounts } from '../store/store-stats.ts'

/**
 * A relay that stops removes itself. A killed one cannot: it counts as ended when this many of its heartbeats
 * are missing, and after a second at the earliest, because a relay with a very short lease may be late
 * without having ended.
 */
const MISSED_HEARTBEATS = 3
const MIN_OVERDUE_MS = 1_000

/** A heartbeat in the future is one before the clock was set back: a running relay replaces it. */
export const isAlive = ({ seenAt, heartbeatMs }: RelayRow, now: number): boolean =>
	Math.abs(now - seenAt) <= Math.max(MIN_OVERDUE_MS, MISSED_HEARTBEATS * heartbeatMs)

export const serves = ({ destinations }: Pick<RelayRow, 'destinations'>, destination: string): boolean =>
	destinations.some((name) => servesBy(name, destination))

const reportedInFlight = (relays: readonly RelayRow[]): number =>
	relays.reduce((sum, { inFlight }) => sum + inFlight, 0)

/**
 * Replaces a capped count by what the relays report. Leases have no index, because every claim would have to
 * change it; so a store counts in-flight messages only among the oldest due ones. "0 or more" is useless, and
 * the relays know the number.
 */
export function inFlightTotal({ count, isCapped }: CappedCount, relays: readonly RelayRow[]): CappedCount {
	const reported = reportedInFlight(relays)
	if (!isCapped || reported > count) return { count: isCapped ? reported : count, isCapped: false }
	return { count, isCapped: count > 0 }
}

/**
 * Does the same for each destination. A relay reports one number for all its destinations, from which the
 * counts of the others are subtracted. If nothing remains, the count is complete. A remainder belongs to this
 * destination unless another count was capped too.
 */
export function inFlightByDestination(
	destinations: readonly DestinationCounts[],
	relays: readonly RelayRow[],
): readonly DestinationCounts[] {
	return destinations.map((one) => {
		const { count, isCapped } = one.inFlight
		if (!isCapped) return one
		const own = relays.filter((relay) => serves(relay, one.destination))
		const others = destinations.filter(
			(other) => other !== one && own.some((relay) => serves(relay, other.destination)),
		)
		const rest = reportedInFlight(own) - others.reduce((sum, { inFlight }) => sum + inFlight.count, 0)
		if (rest <= count) return { ...one, inFlight: { count, isCapped: count > 0 } }
		if (others.some(({ inFlight }) => inFlight.isCapped)) return one
		return { ...one, inFlight: { count: rest, isCapped: false } }
	})
}
