/** When each worker of a service is free, as a binary heap: the first free worker takes the next request. */

export class WorkerPool {
	readonly #freeAt: Float64Array

	constructor(workers: number) {
		this.#freeAt = new Float64Array(workers).fill(-Infinity)
	}

	/** All workers are free: the service was restarted. */
	clear(): void {
		this.#freeAt.fill(-Infinity)
	}

	/** When the next worker is free. */
	get nextFreeAt(): number {
		return this.#freeAt[0] ?? 0
	}

	/** Occupies the next free worker until this time. */
	occupy(until: number): void {
		const freeAt = this.#freeAt
		const { length } = freeAt
		let index = 0
		for (;;) {
			let child = 2 * index + 1
			if (child >= length) break
			if (child + 1 < length && (freeAt[child + 1] ?? 0) < (freeAt[child] ?? 0)) child++
			if ((freeAt[child] ?? 0) >= until) break
			freeAt[index] = freeAt[child] ?? 0
			index = child
		}
		freeAt[index] = until
	}
}
