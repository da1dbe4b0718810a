/**
 * Lists of values as paths. Where there are many more points than pixels, a path keeps of each column of pixels what one
 * can see of it: where it begins and ends, and its lowest and highest point. A long run stays a small file that way, and no
 * spike is lost, as it would be to a mean or to every n-th point.
 */
import type { Values } from './chart.ts'
import { coordinate } from './element.ts'
import { drawable, type Scale } from './scale.ts'

interface Point {
	readonly x: number
	readonly y: number
}

/** Where values end up in the picture. */
export interface Places {
	readonly xs: readonly number[]
	readonly toX: Scale
	readonly toY: Scale
}

/** A line through the values, interrupted at gaps. */
export function linePath(values: Values, places: Places): string {
	return stretches(values, places)
		.filter((points) => points.length > 1)
		.map(path)
		.join('')
}

/** Values between two gaps: no line goes through them, and they are not to be lost. Empty strokes with round ends. */
export function dotsPath(values: Values, places: Places): string {
	return stretches(values, places)
		.filter((points) => points.length === 1)
		.map((points) => `${path(points)}h0`)
		.join('')
}

/** The area between two lists, interrupted where either has a gap. A value between two gaps is a thin bar. */
export function areaPath(low: Values, high: Values, places: Places): string {
	const isWhole = low.map(
		(value, index) => drawable(value) !== undefined && drawable(high[index]) !== undefined,
	)
	const known = (values: Values) => values.map((value, index) => (isWhole[index] ? value : null))
	const bottoms = stretches(known(low), places)
	return stretches(known(high), places)
		.map((top, index) => `${path([...widened(top), ...widened(bottoms[index] ?? []).toReversed()])}Z`)
		.join('')
}

function widened(points: readonly Point[]): readonly Point[] {
	const [only] = points
	return only && points.length === 1
		? [
				{ ...only, x: only.x - 1 },
				{ ...only, x: only.x + 1 },
			]
		: points
}

/** Runs of points without a gap. */
function stretches(values: Values, { xs, toX, toY }: Places): readonly (readonly Point[])[] {
	const found: Point[][] = []
	let current: Point[] | undefined
	values.forEach((value, index) => {
		const x = xs[index]
		const y = drawable(value)
		if (x === undefined || y === undefined) {
			current = undefined
			return
		}
		if (!current) {
			current = []
			found.push(current)
		}
		current.push({ x: toX(x), y: toY(y) })
	})
	return found.map(thinned)
}

/** At most four points for each column of pixels, in their order. */
function thinned(points: readonly Point[]): readonly Point[] {
	const kept: Point[] = []
	let column: Point[] = []
	const close = (): void => {
		if (column.length <= 4) kept.push(...column)
		else kept.push(...extremes(column))
		column = []
	}
	for (const point of points) {
		const [first] = column
		if (first && Math.floor(first.x) !== Math.floor(point.x)) close()
		column.push(point)
	}
	close()
	return kept
}

function extremes(column: readonly Point[]): readonly Point[] {
	let [low, high] = [0, 0]
	column.forEach(({ y }, index) => {
		if (y < (column[low]?.y ?? y)) low = index
		if (y > (column[high]?.y ?? y)) high = index
	})
	const places = new Set([0, low, high, column.length - 1])
	return column.filter((_, index) => places.has(index))
}

const path = (points: readonly Point[]): string =>
	points.map(({ x, y }, index) => `${index ? 'L' : 'M'}${coordinate(x)} ${coordinate(y)}`).join('')
