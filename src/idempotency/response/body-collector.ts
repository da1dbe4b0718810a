/** Joins the chunks of a body, up to a limit. */
export class BodyCollector {
	readonly #maxBytes: number
	#chunks: Uint8Array[] = []
	#size = 0

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes
	}

	get isTooLarge(): boolean {
		return this.#size > this.#maxBytes
	}

	add(chunk: Uint8Array): void {
		this.#size += chunk.length
		if (this.isTooLarge) this.#chunks = []
		else this.#chunks.push(chunk)
	}

	/** The whole body; undefined if it is larger than the limit. */
	joined(): Uint8Array | undefined {
		if (this.isTooLarge) return undefined
		const [only] = this.#chunks
		if (only && this.#chunks.length === 1) return only
		const all = new Uint8Array(this.#size)
		let at = 0
		for (const chunk of this.#chunks) {
			all.set(chunk, at)
			at += chunk.length
		}
		return all
	}
}
