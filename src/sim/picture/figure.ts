/**
 * Numbers as people read them. Not `toLocaleString`, whose answer depends on what the engine was built with: the same data
 * must give the same bytes.
 */

/** Decimals that a step needs: 1 for 0.5, none for 20. */
export function decimalsOf(step: number): number {
	const exponent = Number(step.toExponential().split('e')[1] ?? 0)
	return Math.max(0, -exponent)
}

/**
 * A number with thousands apart and no more decimals than told.
 *
 * @example
 * figure(12345.678, 1) // '12,345.7'
 */
export function figure(value: number, decimals = 0): string {
	const size = Math.abs(value)
	if (size >= 1e9 || (size > 0 && decimals > 6))
		return value.toExponential(1).replace('.0e', 'e').replace('e+', 'e')
	if (value === 0 && decimals > 6) return '0'
	const [whole = '', fraction = ''] = size.toFixed(decimals).split('.')
	const text = whole.replace(/\B(?=(\d{3})+$)/g, ',') + (fraction && `.${fraction}`)
	return value < 0 && Number(text.replaceAll(',', '')) !== 0 ? `-${text}` : text
}

/** A number with about three digits, for descriptions and labels. */
export function roughly(value: number): string {
	const size = Math.abs(value)
	if (size >= 100 || Number.isInteger(value)) return figure(value)
	const decimals = size >= 10 ? 1 : size >= 0.01 || size === 0 ? 2 : 4
	return figure(value, decimals).replace(/\.?0+$/, '')
}
