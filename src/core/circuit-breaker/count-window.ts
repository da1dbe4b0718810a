/**
 * The latest calls, whenever they were: a ring of their outcomes with running sums, so that a call costs the same however
 * large the window is. It has a TimeWindow's `add` and `sum`, and pays no heed to the time it is told. A byte a call; a
 * list of objects would take forty times that, for nothing that a rate asks.
 */
export class CountWindow {
	readonly #ring: Uint8Array
	readonly #sums = [0, 0, 0, 0]
	/** All that were ever added: where the next one goes, and whether one has to leave for it. */
	#added = 0

	/** Begins with the latest of `outcomes`, a digit each. */
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

	/** Every call in it, oldest first, a digit each. */
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
