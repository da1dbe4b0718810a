/** Times as a person says them at night: one figure, one unit. */
const UNITS: readonly (readonly [ms: number, name: string])[] = [
	[86_400_000, 'd'],
	[3_600_000, 'h'],
	[60_000, 'min'],
	[1_000, 's'],
]

/** `850 ms`, `12 s`, `3 min`, `2 h`, `5 d`. From two of a unit on it is that unit: 90 s say more than 1 min or 2 min. */
export function formatDuration(ms: number): string {
	const length = Math.max(0, ms)
	const unit = UNITS.find(([size, name]) => length >= (name === 's' ? size : 2 * size))
	return unit ? `${Math.round(length / unit[0])} ${unit[1]}` : `${Math.round(length)} ms`
}
