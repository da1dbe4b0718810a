/** Numbers that are gathered one by one and then sorted: a typed list that grows, for a list of boxes would be twice as large. */
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

	/** A copy, smallest first. */
	sorted(): Float64Array {
		return this.#values.slice(0, this.length).sort()
	}
}

/** A number of a list that is known to have it; the type checker can not know which indices are inside. */
export const at = (values: ArrayLike<number>, index: number): number => values[index] ?? 0

/** Adds to a number of a list. */
export function increase(
	values: { [index: number]: number } & ArrayLike<number>,
	index: number,
	by = 1,
): void {
	values[index] = at(values, index) + by
}

/** The value that a share of the sorted values lies at or below; NaN of none. */
export const quantile = (sorted: Float64Array, share: number): number =>
	sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
