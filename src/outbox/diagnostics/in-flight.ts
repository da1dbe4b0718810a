/**
 * How many are in flight, where a store can not tell for sure. No index has the leases, since every claim would have to change it, so a store looks
 * at the oldest that are due and says that there may be more. The relays know better: each tells with its heartbeat how many it sends.
 * "0 or more" is what nobody can use, so what they say is taken where the count was ended.
 */
import type { RelayRow } from '../store/rows.ts'
import type { CappedCount, DestinationCounts } from '../store/store.ts'
import { serves } from './relays.ts'

const reportedBy = (relays: readonly RelayRow[]): number =>
	relays.reduce((sum, { inFlight }) => sum + inFlight, 0)

/** A count that ended early, with what these relays say. Without a word of them and with none found there is none. */
export function atLeastReported({ count, isCapped }: CappedCount, relays: readonly RelayRow[]): CappedCount {
	const reported = reportedBy(relays)
	if (!isCapped || reported > count) return { count: isCapped ? reported : count, isCapped: false }
	return { count, isCapped: count > 0 }
}

/**
 * Of each destination. Relays tell one figure for all that they serve, from which what was found elsewhere can be taken off. If nothing is left there
 * is no more than was found; what is left belongs here, unless another one that they serve was cut short as well.
 */
export function inFlightByReports(
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
		const rest = reportedBy(own) - others.reduce((sum, { inFlight }) => sum + inFlight.count, 0)
		if (rest <= count) return { ...one, inFlight: { count, isCapped: count > 0 } }
		if (others.some(({ inFlight }) => inFlight.isCapped)) return one
		return { ...one, inFlight: { count: rest, isCapped: false } }
	})
}
