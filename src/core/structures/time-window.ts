/**
 * Counts over the latest `windowMs`: a ring of buckets with running sums. Recording and asking cost the same after a
 * million records as after one, and nothing ticks: what has grown too old is dropped when somebody next looks, however long
 * nobody did. The price is grain: a record leaves with its bucket, up to a tenth of the window early. (A list of times
 * would be exact, but grows with the load, which is when it must not.)
 */
const BUCKETS = 10

export class TimeWindow {
	#windowMs: number
	readonly #kinds: number
	/** One stretch of `#kinds` counts for each bucket, and at the end one with their sums. Made at the first record. */
	#counts: number[] | undefined
	/** When the first record came. Buckets are counted from there, for a clock's zero may be anywhere, also ahead. */
	#origin = 0
	/** The number of the current bucket, where its counts begin, and for how long after the first record that stays so. */
	#bucket = 0
	#begin = 0
	#lasts = 0

	/** `kinds` is how many things are counted side by side. */
	constructor(windowMs: number, kinds: number) {
		this.#windowMs = windowMs
		this.#kinds = kinds
	}

	add(now: number, kind: number, amount = 1): void {
		if (!this.#counts) {
			this.#counts = new Array<number>((BUCKETS + 1) * this.#kinds).fill(0)
			this.#origin = now
			this.#bucket = this.#lasts = 0
		}
		const counts = this.#counts
		if (now - this.#origin >= this.#lasts) this.#rotate(now, counts)
		const place = this.#begin + kind
		const sum = BUCKETS * this.#kinds + kind
		counts[place] = (counts[place] ?? 0) + amount
		counts[sum] = (counts[sum] ?? 0) + amount
	}

	/** How many of a kind there are now. */
	sum(now: number, kind: number): number {
		const counts = this.#counts
		if (counts) this.#rotate(now, counts)
		return counts?.[BUCKETS * this.#kinds + kind] ?? 0
	}

	clear(): void {
		this.#counts = undefined
	}

	/**
	 * Another length from now on. What is counted stays, as though all of it had just happened; with the length that it has,
	 * nothing changes, or a configuration that is read again and again would keep old counts alive.
	 */
	resize(now: number, windowMs: number): void {
		if (windowMs === this.#windowMs) return
		const sums = Array.from({ length: this.#kinds }, (_, kind) => this.sum(now, kind))
		this.#windowMs = windowMs
		this.clear()
		for (const [kind, sum] of sums.entries()) this.add(now, kind, sum)
	}

	#rotate(now: number, counts: number[]): void {
		const kinds = this.#kinds
		const current = Math.floor(((now - this.#origin) * BUCKETS) / this.#windowMs)
		// A ring has no more buckets than can be emptied in one round, however long nobody looked.
		const stale = Math.min(current - this.#bucket, BUCKETS)
		for (let i = 0; i < stale; i++) {
			const begin = ((current - i) % BUCKETS) * kinds
			for (let kind = 0; kind < kinds; kind++) {
				const sum = BUCKETS * kinds + kind
				counts[sum] = (counts[sum] ?? 0) - (counts[begin + kind] ?? 0)
				counts[begin + kind] = 0
			}
		}
		if (stale > 0) this.#bucket = current
		this.#begin = (this.#bucket % BUCKETS) * kinds
		// A hair early, for rounding must not keep a bucket for longer than the formula above would.
		this.#lasts = ((this.#bucket + 1 - 1e-6) * this.#windowMs) / BUCKETS
	}
}
