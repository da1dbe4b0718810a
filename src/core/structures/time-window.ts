/**
 * Counts over the latest `windowMs`: a ring of buckets with running sums. `add` and `sum` are O(1) and there
 * is no timer: expired buckets are cleared at the next access, after any idle time. The price is resolution:
 * a record expires with its bucket, up to a tenth of the window early. (A list of times would be exact, but
 * grows with the load.)
 */
const BUCKETS = 10

export class TimeWindow {
	#windowMs: number
	readonly #kinds: number
	/** `#kinds` counts per bucket, followed by their sums. Created at the first record. */
	#counts: number[] | undefined
	/** The time of the first record. Buckets are numbered from it, because the clock may start anywhere. */
	#origin = 0
	/** The number of the current bucket. */
	#bucket = 0
	/** The index of its first count. */
	#begin = 0
	/** The end of the bucket, in milliseconds after the first record. */
	#end = 0

	/** `kinds` is the number of separate counts. */
	constructor(windowMs: number, kinds: number) {
		this.#windowMs = windowMs
		this.#kinds = kinds
	}

	add(now: number, kind: number, amount = 1): void {
		if (!this.#counts) {
			this.#counts = new Array<number>((BUCKETS + 1) * this.#kinds).fill(0)
			this.#origin = now
			this.#bucket = this.#end = 0
		}
		const counts = this.#counts
		if (now - this.#origin >= this.#end) this.#rotate(now, counts)
		const index = this.#begin + kind
		const sum = BUCKETS * this.#kinds + kind
		counts[index] = (counts[index] ?? 0) + amount
		counts[sum] = (counts[sum] ?? 0) + amount
	}

	/** Returns the count of a kind in the window; 0 for one that it does not have. */
	sum(now: number, kind: number): number {
		const counts = this.#counts
		if (!counts || kind >= this.#kinds) return 0
		if (now - this.#origin >= this.#end) this.#rotate(now, counts)
		return counts[BUCKETS * this.#kinds + kind] ?? 0
	}

	clear(): void {
		this.#counts = undefined
	}

	/**
	 * Changes the length. The counts stay, as if all of them had just been recorded. With the same length
	 * nothing changes, or a configuration that is applied again and again would keep old counts alive.
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
		// After a long idle time, one round clears every bucket.
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
		// Slightly early, so that rounding never keeps a bucket longer than the formula above.
		this.#end = ((this.#bucket + 1 - 1e-6) * this.#windowMs) / BUCKETS
	}
}
