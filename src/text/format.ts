/**
 * Numbers, durations and lists as people read them. `toLocaleString` and `Intl` are not used: their output
 * depends on the data that the engine was built with, and the same report must be the same bytes everywhere.
 */

/** Formats a number with thousands separators: `12,345.7`. From 1e9 on it uses the exponential form. */
export function formatNumber(value: number, decimals = 0): string {
	const size = Math.abs(value)
	if (size >= 1e9 || (size > 0 && decimals > 6))
		return value.toExponential(1).replace('.0e', 'e').replace('e+', 'e')
	if (value === 0 && decimals > 6) return '0'
	const [whole = '', fraction = ''] = size.toFixed(decimals).split('.')
	const text = groupDigits(whole, ',') + (fraction && `.${fraction}`)
	return value < 0 && Number(text.replaceAll(',', '')) !== 0 ? `-${text}` : text
}

/** Separates digits into groups of three, counted from the end. */
export function groupDigits(digits: string, separator: string): string {
	const groups: string[] = []
	for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end))
	return groups.join(separator)
}

/** Formats a number with about three significant digits, without trailing zeros: 16.74 is `16.7`. */
export function formatSignificant(value: number): string {
	const size = Math.abs(value)
	if (size >= 100 || Number.isInteger(value)) return formatNumber(value)
	const decimals = size >= 10 ? 1 : size >= 0.01 || size === 0 ? 2 : 4
	return formatNumber(value, decimals).replace(/(?:\.0*|(?<!0)0+)$/, '')
}

/**
 * Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`. Computed through the
 * decimal notation, because powers and logarithms are not exact on every engine.
 */
export function niceStep(rough: number): number {
	const [digits = '1', exponent = '0'] = rough.toExponential().split('e')
	const factor = [1, 2, 5, 10].find((nice) => nice >= Number(digits)) ?? 10
	return Number(`${factor}e${exponent}`)
}

/** Returns the number of decimals that multiples of `step` need: 1 for 0.5, none for 20. */
export function decimalsFor(step: number): number {
	const exponent = Number(step.toExponential().split('e')[1] ?? 0)
	return Math.max(0, -exponent)
}

/** Formats a share from 0 to 1, by default with about three significant digits: 0.1234 is `12.3 %`. */
export function formatPercent(share: number, decimals?: number): string {
	const percent = share * 100
	return `${decimals === undefined ? formatSignificant(percent) : formatNumber(percent, decimals)} %`
}

/** Formats a count with its noun: `1 dead letter`, `2,000 retries`. */
export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
	return `${formatNumber(count)} ${count === 1 ? singular : plural}`
}

const UNITS: readonly (readonly [ms: number, name: string])[] = [
	[86_400_000, 'd'],
	[3_600_000, 'h'],
	[60_000, 'min'],
	[1_000, 's'],
]

/**
 * Formats a duration in the largest unit of which there are at least two (90 s says more than 1 min), or with
 * `units` 2 also in the next smaller unit: `850 ms`, `3 min`, `3 min 20 s`.
 */
export function formatDuration(ms: number, units: 1 | 2 = 1): string {
	const length = Math.max(0, ms)
	const index = UNITS.findIndex(([size, name]) => length >= (name === 's' ? size : 2 * size))
	const [unit, next] = [UNITS[index], UNITS[index + 1]]
	if (!unit) return `${Math.round(length)} ms`
	const [size, name] = unit
	if (units === 1) return `${Math.round(length / size)} ${name}`
	if (!next) return `${formatSignificant(length / size)} ${name}`
	return `${Math.floor(length / size)} ${name} ${Math.floor((length % size) / next[0])} ${next[1]}`
}

/** Formats the time until or since a moment by its distance from now: `in 12 s`, `3 min ago`. */
export function formatRelativeTime(offsetMs: number): string {
	return offsetMs > 0 ? `in ${formatDuration(offsetMs)}` : `${formatDuration(-offsetMs)} ago`
}

/** Joins items as in a sentence, at most `maxItems` of them: `a, b or c`, `a, b and 2 more`. */
export function joinList(
	items: readonly string[],
	conjunction: 'and' | 'or' = 'and',
	maxItems: number = Infinity,
): string {
	const shown = items.slice(0, maxItems)
	const rest = items.length - shown.length
	const parts = rest > 0 ? [...shown, `${formatNumber(rest)} more`] : shown
	const last = parts.at(-1) ?? ''
	const before = parts.slice(0, -1).join(', ')
	return before === '' ? last : `${before} ${rest > 0 ? 'and' : conjunction} ${last}`
}
