/** A series in one line of text. */

const BLOCKS = '▁▂▃▄▅▆▇█'

/**
 * Draws values from 0 to `max` as blocks of eight heights, `▁▅█ ▃`; null is a gap. If there are more values
 * than columns, a column shows the highest of its values: an average would hide a short overload.
 */
export function sparkline(
	values: readonly (number | null)[],
	columns: number,
	max: number = highest(values) ?? 0,
): string {
	const count = Math.max(0, Math.min(values.length, Math.floor(columns)))
	return Array.from({ length: count }, (_, column) => {
		const from = Math.floor((column * values.length) / count)
		const to = Math.floor(((column + 1) * values.length) / count)
		const value = highest(values.slice(from, to))
		if (value === undefined) return ' '
		const share = max > 0 ? Math.max(0, Math.min(1, value / max)) : 0
		return BLOCKS.charAt(Math.round(share * (BLOCKS.length - 1)))
	}).join('')
}

function highest(values: readonly (number | null)[]): number | undefined {
	let found: number | undefined
	for (const value of values) {
		if (value !== null && Number.isFinite(value) && (found === undefined || value > found)) found = value
	}
	return found
}
