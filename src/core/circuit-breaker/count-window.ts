/**
 * The last calls, whenever they were: a ring of their outcomes with running sums, so that a call costs the
 * same however large the window is. It has the same `add` and `sum` as a TimeWindow and ignores the time. One
 * byte per call; a list of objects would take forty times as much.
 */
export class CountWindow {
	readonly #ring: Uint8Array
	readonly #sums = [0, 0, 0, 0]
	/** The number of outcomes that were ever added: gives the next index, and whether an old outcome leaves. */
	#added = 0

	/** Starts with the last of `outcomes`, one digit each. */
	constructor(size: number, kinds: number, outcomes = '') {
		this.#ring = new Uint8Array(size)
		for (const outcome of outcomes) this.add(0, Number(outcome) % kinds)
	}

	add(_now: number, outcome: number): void {
		const ring = this.#ring
		const place = this.#added++ % ring.length
		if (this.#added > ring.length) this.#change(ring[place], -1)
		ring[place] = outcome
		this.#change(outcome, 1)
	}

	sum(_now: number, outcome: number): number {
		return this.#sums[outcome] ?? 0
	}

	/** Returns every outcome in the window, oldest first, one digit each. */
	outcomes(): string {
		const ring = this.#ring
		const next = this.#added % ring.length
		return this.#added < ring.length
			? ring.subarray(0, next).join('')
			: ring.subarray(next).join('') + ring.subarray(0, next).join('')
	}

	#change(outcome = 0, by: number): void {
		this.#sums[outcome] = this.sum(0, outcome) + by
	}
}
