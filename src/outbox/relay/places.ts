/**
 * A relay's share of the places that all relays have together. While it asks it starts nothing beyond what it told: the answer is made of
 * that number, and others are given the rest.
 */

import type { DestinationState } from './destination-state.ts'
import type { RelayContext } from './relay-context.ts'

export async function acquirePermits(
	{ store, owner, settings, runtime }: RelayContext,
	lane: DestinationState,
): Promise<void> {
	const { destination } = lane
	const { maxConcurrent: total, concurrency: wanted } = lane.settings
	const { leaseMs } = settings
	const until = runtime.now() + leaseMs
	const inUse = lane.countPlaces()
	lane.share(await store.acquirePermits({ destination, owner, wanted, inUse, total, leaseMs }), until)
}
