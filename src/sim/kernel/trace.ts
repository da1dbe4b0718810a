/**
 * A fingerprint of everything that happened, in order. Two runs that differ in one event, by one bit of its time, have different
 * fingerprints. Not a cryptographic hash: it only distinguishes runs.
 */
export class Trace {
	#high = 0x243f6a88
	#low = 0x85a308d3 | 0
	readonly #number = new Float64Array(1)
	readonly #words = new Uint32Array(this.#number.buffer)

	add(value: number): void {
		this.#number[0] = value
		const words = this.#words
		const high = Math.imul(this.#high ^ (words[0] ?? 0), 0x9e3779b1)
		const low = Math.imul(this.#low ^ (words[1] ?? 0) ^ (high >>> 15), 0x85ebca6b)
		this.#high = high ^ (low >>> 13)
		this.#low = low ^ (high >>> 16)
	}

	/** Sixteen hexadecimal digits. */
	get hash(): string {
		return hex(this.#high) + hex(this.#low)
	}
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0')
