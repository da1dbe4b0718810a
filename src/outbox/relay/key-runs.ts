/**
 * The claimed messages of ordered destinations that wait for an earlier one of their key. A relay claims a
 * run of messages of a key and sends them one by one, so that not every message needs a claim of its own. At
 * most one message of a key is queued or in flight. The others wait here until it is sent, or until the run is
 * released because it failed.
 */

/** A claimed message, as a run sees it. */
interface Member {
	readonly row: { readonly key: string | null }
	isSettled: boolean
	/** True while an earlier message of its run is queued or in flight. */
	isFollower: boolean
	/** The next message of its run, which follows it, so that its key does not become free. */
	follower: Member | undefined
}

export class KeyRuns<Delivery extends Member> {
	/** The waiting messages of each key, in reverse order. */
	readonly #followers = new Map<string, Delivery[]>()
	#size = 0

	get size(): number {
		return this.#size
	}

	get keys(): readonly string[] {
		return [...this.#followers.keys()]
	}

	/**
	 * Keeps all but the first message of each key, and returns the first ones. `busy` are deliveries in flight,
	 * whose keys have a first message already. Messages of an earlier claim of the same key are dropped: the key
	 * can be claimed again only because that claim has lost its lease.
	 */
	split(claimed: readonly Delivery[], busy: Iterable<Delivery>): readonly Delivery[] {
		const keys = new Set<string | null>()
		for (const { row, isSettled } of busy) if (!isSettled) keys.add(row.key)
		if (!hasRuns(claimed, keys)) return claimed
		for (const { row } of claimed) for (const stale of this.take(row.key)) stale.isSettled = true
		const runs = new Map<string, Delivery[]>()
		const heads = claimed.filter((delivery) => {
			const { key } = delivery.row
			if (key === null) return true
			const isHead = !keys.has(key)
			keys.add(key)
			if (isHead) return true
			delivery.isFollower = true
			const run = runs.get(key)
			if (run) run.push(delivery)
			else runs.set(key, [delivery])
			return false
		})
		for (const [key, run] of runs) {
			this.#followers.set(key, run.reverse())
			this.#size += run.length
		}
		return heads
	}

	/** Records which message follows a sent one. Later its run may be released and another one claimed. */
	recordFollower(sent: Delivery): void {
		sent.follower = sent.row.key === null ? undefined : this.#followers.get(sent.row.key)?.at(-1)
	}

	/** Returns the message after a sent one; undefined if its run was released meanwhile. */
	next(sent: Delivery): Delivery | undefined {
		const { key } = sent.row
		const run = key === null ? undefined : this.#followers.get(key)
		const next = run?.at(-1) === sent.follower ? run?.pop() : undefined
		sent.follower = next
		if (!next || !run || key === null) return undefined
		this.#size--
		if (run.length === 0) this.#followers.delete(key)
		next.isFollower = false
		return next
	}

	/** Removes and returns what waits for a message with this key. */
	take(key: string | null): readonly Delivery[] {
		const run = key === null ? undefined : this.#followers.get(key)
		if (!run || key === null) return []
		this.#followers.delete(key)
		this.#size -= run.length
		return run
	}

	takeAll(): readonly Delivery[] {
		if (this.#size === 0) return []
		const all = [...this]
		this.#followers.clear()
		this.#size = 0
		return all
	}

	*[Symbol.iterator](): Generator<Delivery> {
		for (const run of this.#followers.values()) yield* run
	}
}

/** Returns true if a claimed message has the key of another one, or a busy key. */
function hasRuns(claimed: readonly Member[], busy: ReadonlySet<string | null>): boolean {
	const keys = new Set(busy)
	for (const { row } of claimed) {
		if (row.key === null) continue
		if (keys.has(row.key)) return true
		keys.add(row.key)
	}
	return false
}
