/**
 * Remembers where the messages of a key start. While a session holds an old snapshot, PostgreSQL keeps the
 * index entries of all messages that were sent since, and a search for the first message of a key from the
 * start reads all of them: seconds after a few minutes. A message that was enqueued under the lock of its key
 * and was once the first of its key is a bound: no other such message can ever be before it, because the lock
 * gives the numbers in the order of the commits. It holds for all relays and after any settlement, so nothing
 * has to take it back.
 *
 * A claim with bounds costs more, so it gets those that matter: of keys from which many messages were
 * claimed, and of keys that a slow claim has found.
 *
 * Rejected: a row per key in the database. It would be updated with every settlement, and the same snapshot
 * would keep all its versions.
 *
 * The memory is limited. A key that was used long ago loses its bound, and is searched from the start once.
 */

/** A search that reads fewer entries needs no bound. */
const MIN_CLAIMED = 32
/** Keys whose bounds are used. They go with every scan: a scan cannot know which keys it will find. */
const MAX_USED = 1_000
/** Keys from which few messages were claimed. Most keys of some applications never have a second message. */
const MAX_COUNTED = 10_000
const MAX_DESTINATIONS = 1_000

interface KeyBound {
	/** The sequence number of the first message. */
	readonly sequence: number
	/** The number of messages that were claimed from the key. */
	readonly claimed: number
}

interface Bounds {
	readonly used: Map<string, KeyBound>
	readonly counted: Map<string, KeyBound>
	/** True if the latest claim was slow: the next one reports where the messages of its keys start. */
	isSlow: boolean
}

export class KeyBounds {
	readonly #byDestination = new Map<string, Bounds>()

	/** Records the first message of a key and how many were claimed with it. The number may be less than before, if a backup was restored. */
	record(destination: string, key: string, sequence: number, claimed: number): void {
		const { used, counted, isSlow } = this.#of(destination)
		const known = used.get(key) ?? counted.get(key)
		const bound = { sequence, claimed: (known?.claimed ?? 0) + claimed }
		used.delete(key)
		counted.delete(key)
		if (isSlow || bound.claimed >= MIN_CLAIMED) {
			used.set(key, bound)
			const dropped = dropOldest(used, MAX_USED)
			if (dropped) counted.set(...dropped)
		} else counted.set(key, bound)
		dropOldest(counted, MAX_COUNTED)
	}

	/** Records whether a claim took long. What it has found is recorded after it. */
	recordClaim(destination: string, isSlow: boolean): void {
		this.#of(destination).isSlow = isSlow
	}

	/** Returns the bounds of these keys; without keys, those that go with a scan. Undefined if a claim needs none. */
	of(destination: string, keys?: readonly string[]): Readonly<Record<string, number>> | undefined {
		const bounds = this.#byDestination.get(destination)
		if (bounds === undefined) return undefined
		const found: [string, number][] = []
		const { used, counted, isSlow } = bounds
		if (keys === undefined) for (const [key, { sequence }] of used) found.push([key, sequence])
		else
			for (const key of keys) {
				const bound = used.get(key) ?? (isSlow ? counted.get(key) : undefined)
				if (bound) found.push([key, bound.sequence])
			}
		return isSlow || found.length > 0 ? Object.fromEntries(found) : undefined
	}

	#of(destination: string): Bounds {
		let bounds = this.#byDestination.get(destination)
		if (bounds === undefined) {
			bounds = { used: new Map(), counted: new Map(), isSlow: false }
			this.#byDestination.set(destination, bounds)
			dropOldest(this.#byDestination, MAX_DESTINATIONS)
		}
		return bounds
	}
}

/** Maps keep the order of insertion. */
function dropOldest<Value>(map: Map<string, Value>, max: number): [string, Value] | undefined {
	if (map.size <= max) return undefined
	const [oldest] = map
	if (oldest) map.delete(oldest[0])
	return oldest
}
