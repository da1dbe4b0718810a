/** Remembers since when this process sees each problem of a source. */
export class ProblemTimes {
	#before: ReadonlyMap<string, number | null> | undefined
	#current = new Map<string, number | null>()
	#now = 0

	/** Begins a read. Problems of the first one began before this process looked, so their time is unknown. */
	begin(now: number): void {
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
