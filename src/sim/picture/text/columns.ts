/**
 * Points in time as columns of characters. A column that holds several points shows the greatest of them: whether a service
 * was ever asked for more than it can do is what these pictures are for, and a mean would hide it.
 */
import type { Shade } from '../chart.ts'
import { plainLine } from '../escape.ts'
import { decimalsOf, figure } from '../figure.ts'
import { innerTicks } from '../scale.ts'
import { shortened } from '../text-width.ts'
import { displayWidth } from './display-width.ts'
import { labelRow } from './terminal.ts'

export interface Columns {
	readonly count: number
	/** The indexes of the points in each. A column without one shows the point before it. */
	readonly points: readonly (readonly number[])[]
	/** When the first begins, and how long each is. */
	readonly from: number
	readonly each: number
}

/** No more columns than these for one point, or a chart of three would be three walls. */
const WIDEST_POINT = 4
/** Parts of anything shorter would be zero. */
const SHORTEST = 1e-290

export function columnsOf(x: readonly number[], room: number): Columns {
	const [from = 0, to = from] = [x[0], x.at(-1)]
	// The last point lasts as long as the others do on average.
	const span = x.length > 1 ? Math.max(SHORTEST, ((to - from) * x.length) / (x.length - 1)) : 1
	const perPoint = Math.min(WIDEST_POINT, Math.floor(room / x.length))
	const count = x.length === 0 ? 0 : perPoint >= 1 ? perPoint * x.length : room
	const each = count === 0 ? span : span / count
	const points: number[][] = Array.from({ length: count }, () => [])
	x.forEach((value, index) => {
		// A hair to the right, or a third of three columns would fall into the first.
		points[Math.min(count - 1, Math.floor((value - from) / each + 1e-6))]?.push(index)
	})
	points.forEach((own, column) => {
		const last = points[column - 1]?.at(-1)
		if (own.length === 0 && last !== undefined) own.push(last)
	})
	return { count, points, from, each }
}

/** Whether something is the matter in a column. */
export function isShaded({ from, to }: Shade, column: number, { from: start, each }: Columns): boolean {
	const [begin, end] = [(from - start) / each, (to - start) / each]
	const hair = 1e-6
	return begin < column + 1 - hair && (end > column + hair || (begin === end && begin >= column))
}

/** Numbers below the columns with their unit behind them, or below where there is no room. */
export function timeRows({ count, from, each }: Columns, unit: string, room: number): readonly string[] {
	const ticks = innerTicks({ least: from, greatest: from + each * count }, Math.max(1, Math.floor(count / 6)))
	const labels = ticks.values.map((value) => ({
		at: Math.round((value - from) / each),
		text: figure(value, decimalsOf(ticks.step)),
	}))
	const row = labelRow(labels, room)
	const name = shortened(plainLine(unit), room, displayWidth)
	return displayWidth(`${row} ${name}`) <= room ? [`${row} ${name}`] : [row, name]
}
