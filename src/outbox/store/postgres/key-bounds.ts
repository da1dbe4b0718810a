/**
 * Remembers where the messages of a key start. While a session holds an old snapshot, PostgreSQL keeps the index entries of all messages that were sent
 * since, and a search for the first message of a key from the start reads all of them: seconds after a few minutes. A message that was enqueued under the
 * lock of its key and was once the first of its key is a bound: no other such message can ever be before it, because the lock gives the numbers in the
 * order of the commits. It holds for all relays and after any settlement, so nothing has to take it back.
 *
 * Rejected: a row per key in the database. It would be updated with every settlement, and the same snapshot would keep all its versions.
 *
 * The memory is limited. A key that was used long ago loses its bound, and is searched from the start once.
 */

/** Keys with two claims or more, whose bounds go with every scan: a scan cannot know which keys it will find. */
const MAX_REPEATED = 1_000
/** Keys with one claim. Most keys of some applications never have a second one. */
const MAX_ONCE = 10_000

interface Bounds {
	readonly repeated: Map<string, number>
	readonly once: Map<string, number>
}

export class KeyBounds {
	readonly #byDestination = new Map<string, Bounds>()

	/**
	 * Records the sequence number of the first message of a key. It may be less than before, if a backup was restored. `wasSlow` if the claim that found it
	 * took long: then the next scan gets the bound, even if it is the first claim of the key.
	 */
	record(destination: string, key: string, sequence: number, wasSlow = false): void {
		let bounds = this.#byDestination.get(destination)
		if (bounds === undefined) {
			bounds = { repeated: new Map(), once: new Map() }
			this.#byDestination.set(destination, bounds)
			dropOldest(this.#byDestination, MAX_REPEATED)
		}
		const { repeated, once } = bounds
		const isRepeated = repeated.delete(key) || once.delete(key) || wasSlow
		if (!isRepeated) {
			once.set(key, sequence)
			dropOldest(once, MAX_ONCE)
			return
		}
		repeated.set(key, sequence)
		const dropped = dropOldest(repeated, MAX_REPEATED)
		if (dropped) once.set(...dropped)
		dropOldest(once, MAX_ONCE)
	}

	/** Returns the known bounds of these keys; without keys, those that go with a scan. Undefined if there are none. */
	of(destination: string, keys?: readonly string[]): Readonly<Record<string, number>> | undefined {
		const bounds = this.#byDestination.get(destination)
		if (bounds === undefined) return undefined
		if (keys === undefined) return bounds.repeated.size > 0 ? Object.fromEntries(bounds.repeated) : undefined
		const found: [string, number][] = []
		for (const key of keys) {
			const bound = bounds.repeated.get(key) ?? bounds.once.get(key)
			if (bound !== undefined) found.push([key, bound])
		}
		return found.length > 0 ? Object.fromEntries(found) : undefined
	}
}

/** Maps keep the order of insertion. */
function dropOldest<Value>(map: Map<string, Value>, max: number): [string, Value] | undefined {
	if (map.size <= max) return undefined
	const [oldest] = map
	if (oldest) map.delete(oldest[0])
	return oldest
}
