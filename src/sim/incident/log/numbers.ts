/** Reads an element that is known to exist, which the type checker cannot know. */
export const at = (values: ArrayLike<number>, index: number): number => values[index] ?? 0

export function increase(
	values: { [index: number]: number } & ArrayLike<number>,
	index: number,
	by = 1,
): void {
	values[index] = at(values, index) + by
}

/** Returns a sorted copy. Typed, because the sort of an ordinary array calls a function per comparison. */
export const sorted = (values: readonly number[]): Float64Array => Float64Array.from(values).sort()

/** Returns the value at or below which a share of the sorted values lies; NaN without values. */
export const quantile = (values: Float64Array, share: number): number =>
	values[Math.min(values.length - 1, Math.floor(share * values.length))] ?? Number.NaN

export const indicesBy = (length: number, columns: readonly ArrayLike<number>[]): Uint32Array =>
	Uint32Array.from({ length }, (_, index) => index).sort((a, b) => {
		for (const column of columns) if (column[a] !== column[b]) return at(column, a) - at(column, b)
		return 0
	})
