/** Lists of values as SVG paths. A timeline has at most 240 steps, so every value is drawn. */
import type { Values } from './chart-data.ts'
import { isDrawable, type Scale } from './scale.ts'
import { coordinate } from './svg.ts'

interface Point {
	readonly x: number
	readonly y: number
}

/** Maps the values of a list to points. */
export interface Projection {
	readonly xs: readonly number[]
	readonly toX: Scale
	readonly toY: Scale
}

/** Returns a line through the values, interrupted at gaps. */
export function linePath(values: Values, projection: Projection): string {
	return segments(values, projection)
		.filter((points) => points.length > 1)
		.map(path)
		.join('')
}

/** Returns a dot for each value between two gaps, which no line passes: a stroke of length zero with round ends. */
export function dotsPath(values: Values, projection: Projection): string {
	return segments(values, projection)
		.filter((points) => points.length === 1)
		.map((points) => `${path(points)}h0`)
		.join('')
}

/** Returns the area between two lists, interrupted where either has a gap. A value between two gaps is a thin bar. */
export function areaPath(low: Values, high: Values, projection: Projection): string {
	const hasBoth = low.map((value, index) => isDrawable(value) && isDrawable(high[index]))
	const withGaps = (values: Values) => values.map((value, index) => (hasBoth[index] ? value : null))
	const bottoms = segments(withGaps(low), projection)
	return segments(withGaps(high), projection)
		.map((top, index) => `${path([...widened(top), ...widened(bottoms[index] ?? []).toReversed()])}Z`)
		.join('')
}

function widened(points: readonly Point[]): readonly Point[] {
	const [only, second] = points
	if (!only || second) return points
	return [-1, 1].map((offset) => ({ ...only, x: only.x + offset }))
}

/** Splits the values at gaps. */
function segments(values: Values, { xs, toX, toY }: Projection): readonly (readonly Point[])[] {
	const found: Point[][] = []
	let current: Point[] | undefined
	values.forEach((value, index) => {
		const x = xs[index]
		if (x === undefined || !isDrawable(value)) {
			current = undefined
			return
		}
		if (!current) {
			current = []
			found.push(current)
		}
		current.push({ x: toX(x), y: toY(value) })
	})
	return found
}

const path = (points: readonly Point[]): string =>
	points.map(({ x, y }, index) => `${index ? 'L' : 'M'}${coordinate(x)} ${coordinate(y)}`).join('')
