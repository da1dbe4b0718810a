/** How much of the outgoing messages of an interceptor may be kept for retries. */
export interface BufferLimit {
	readonly perCall: number
	readonly total: number
	usedBytes: number
}

/** The outgoing messages of a call that are kept for retries. */
export abstract class KeptMessages {
	readonly #limit: BufferLimit
	#reservedBytes = 0

	constructor(limit: BufferLimit) {
		this.#limit = limit
	}

	/** Reserves space for a message. Returns false if it does not fit. */
	protected reserve(bytes: number): boolean {
		const limit = this.#limit
		if (this.#reservedBytes + bytes > limit.perCall || limit.usedBytes + bytes > limit.total) return false
		this.#reservedBytes += bytes
		limit.usedBytes += bytes
		return true
	}

	/** Messages are no longer kept for retries. */
	releaseSpace(): void {
		this.#limit.usedBytes -= this.#reservedBytes
		this.#reservedBytes = 0
	}

	/** The call has ended. */
	close(): void {
		this.releaseSpace()
	}
}
