/** What happened while no viewer looked for longer than this is unknown. */
const MAX_GAP_MS = 60_000

/** Remembers since when this process sees each problem of a source. */
export class ProblemTimes {
	#before: ReadonlyMap<string, number | null> | undefined
	#current = new Map<string, number | null>()
	#now = Number.NEGATIVE_INFINITY

	/** Begins a read. Problems of the first one, also after a gap, began at an unknown time. */
	begin(now: number): void {
		if (now - this.#now > MAX_GAP_MS) this.#before = undefined
		this.#now = now
		this.#current = new Map()
	}

	/** Returns how long the problem has been there; null if it is not known. */
	since(key: string): number | null {
		const known = this.#before?.get(key)
		const at = known !== undefined ? known : this.#before === undefined ? null : this.#now
		this.#current.set(key, at)
		return at === null ? null : this.#now - at
	}

	/** Ends a read: forgets problems that are over. */
	end(): void {
		this.#before = this.#current
	}
}
