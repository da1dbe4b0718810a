/** A growing array of numbers that is sorted when complete. Typed, because an ordinary array would take twice the memory. */
export class GrowableArray {
	#values = new Float64Array(0)
	length = 0

	add(value: number): void {
		if (this.length === this.#values.length) {
			const values = new Float64Array(Math.max(64, this.length * 2))
			values.set(this.#values)
			this.#values = values
		}
		this.#values[this.length++] = value
	}

	/** Returns the values in the order they were added. */
	values(): Float64Array {
		return this.#values.subarray(0, this.length)
	}

	/** Returns a sorted copy. */
	sorted(): Float64Array {
		return this.values().slice().sort()
	}
}

/** Reads an element that is known to exist, which the type checker cannot know. */
export const at = (values: ArrayLike<number>, index: number): number => values[index] ?? 0

/** Adds to an element. */
export function increase(
	values: { [index: number]: number } & ArrayLike<number>,
	index: number,
	by = 1,
): void {
	values[index] = at(values, index) + by
}

/** Returns the value at or below which a share of the sorted values lies; NaN without values. */
export const quantile = (sorted: Float64Array, share: number): number =>
	sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
