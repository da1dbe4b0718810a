/** How much of the outgoing messages of an interceptor may be kept for retries. */
export class BufferLimit {
	readonly #perCall: number
	readonly #total: number
	usedBytes = 0

	constructor(perCall: number, total: number) {
		this.#perCall = perCall
		this.#total = total
	}

	/** Reserves space for a message of a call that has kept `keptBytes` so far. Returns false if it does not fit. */
	reserve(bytes: number, keptBytes: number): boolean {
		if (keptBytes + bytes > this.#perCall || this.usedBytes + bytes > this.#total) return false
		this.usedBytes += bytes
		return true
	}

	release(bytes: number): void {
		this.usedBytes -= bytes
	}
}
