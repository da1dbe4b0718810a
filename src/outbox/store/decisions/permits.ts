/**
 * Divides the permits of a destination among relays. Strict: a permit that a relay holds is not granted to
 * another before it is returned or its lease expires. Fair: each relay that asked recently has a right to an
 * equal share of what it wants; a relay with more gets less when it asks again, which leaves the rest to the
 * others.
 */
import type { PermitRequest } from '../rows.ts'

export interface PermitHolder {
	readonly owner: string
	readonly wanted: number
	readonly permits: number
}

/**
 * Returns the max-min fair share of `owner`: relays that want less than an equal share get what they want,
 * the others divide the rest. Permits that do not divide evenly go to the relays that want most, and among these
 * to the first names, so that all relays compute the same shares.
 */
export function fairShare(
	requests: readonly Pick<PermitHolder, 'owner' | 'wanted'>[],
	owner: string,
	total: number,
): number {
	const smallestFirst = [...requests].sort((a, b) => a.wanted - b.wanted || (a.owner > b.owner ? -1 : 1))
	let left = total
	let share = 0
	for (const [at, request] of smallestFirst.entries()) {
		share = Math.min(request.wanted, Math.floor(left / (smallestFirst.length - at)))
		if (request.owner === owner) break
		left -= share
	}
	return share
}

/** Returns the permits granted to a relay, and the number to record: permits still in use stay recorded until they are returned. */
export function grantPermits(
	{ owner, wanted, inUse, total }: PermitRequest,
	others: readonly PermitHolder[],
): { readonly granted: number; readonly recorded: number } {
	const taken = others.reduce((sum, { permits }) => sum + permits, 0)
	const share = fairShare([...others, { owner, wanted }], owner, total)
	const granted = Math.max(0, Math.min(share, total - taken))
	return { granted, recorded: Math.max(granted, inUse) }
}
