/** One plot with its own y axis, and the x axis that all plots of a chart share. Few lines, and the data on top of them. */
import type { ReferenceLine } from './chart.ts'
import { coordinate, element, textAt } from './element.ts'
import { decimalsOf, figure } from './figure.ts'
import { PADDING, type Placed, WIDTH } from './frame.ts'
import type { Layer } from './layers.ts'
import { areaPath, dotsPath, linePath, type Places } from './outline.ts'
import type { Prepared } from './panels.ts'
import { drawable, type Extent, innerTicks, linearScale, type Scale, type Ticks } from './scale.ts'
import { drawShades, type PlacedShade } from './shades.ts'
import { type SideLabel, sideLabels } from './side-labels.ts'
import { FONT } from './stylesheet.ts'
import { inPixels, shortened, textWidth } from './text-width.ts'

/** Where the plots of a chart begin and end, and what is where from left to right. */
export interface Columns {
	readonly left: number
	readonly right: number
	readonly xs: readonly number[]
	readonly toX: Scale
	readonly shades: readonly PlacedShade[]
}

/** What is named at the right of a plot, and the colour of each name. */
export interface Beside {
	readonly series: boolean
	readonly lines: readonly ReferenceLine[]
	readonly colourOf: (name: string) => string
}

/** A panel between `top` and `bottom`. */
export function drawPlot(
	{ layers, lines, ticks }: Prepared,
	{ left, right, xs, toX, shades }: Columns,
	{ top, bottom }: { readonly top: number; readonly bottom: number },
	beside: Beside,
): readonly string[] {
	const toY = linearScale(ticks, bottom, top)
	const places: Places = { xs, toX, toY }
	const across = (kind: string, value: number): string =>
		element('path', { class: kind, d: `M${coordinate(left)} ${coordinate(toY(value))}H${coordinate(right)}` })
	return [
		...drawShades(shades, top, bottom - top),
		...ticks.values.filter((value) => value !== 0).map((value) => across('grid', value)),
		...ticks.values.map((value, index) =>
			textAt(left - 8, toY(value) + 4, 'small muted', tickTexts(ticks)[index] ?? '', 'end'),
		),
		...layers.flatMap((layer) => drawArea(layer, places, beside.colourOf(layer.name))),
		across('axis', 0),
		...lines.map(({ value }) => across('reference', drawable(value) ?? 0)),
		...layers.flatMap((layer) => drawLine(layer, places, beside.colourOf(layer.name))),
		...(layers.every(({ end }) => end === undefined)
			? [textAt((left + right) / 2, (top + bottom) / 2, 'muted', 'no data', 'middle')]
			: []),
		...sideLabels(labelsBeside(layers, toY, bottom, beside), { left: right, top, bottom }),
	]
}

function drawArea({ kind, area }: Layer, places: Places, colour: string): readonly string[] {
	if (!area) return []
	const shape = kind === 'line' ? 'band' : 'layer'
	return [element('path', { class: `${shape} ${colour}`, d: areaPath(area.low, area.high, places) })]
}

/** A stack has none: where a layer takes no room, nothing of it is to be seen. */
function drawLine({ kind, line }: Layer, places: Places, colour: string): readonly string[] {
	const paths = kind === 'line' ? { line: linePath(line, places), dot: dotsPath(line, places) } : {}
	return Object.entries(paths)
		.filter(([, d]) => d !== '')
		.map(([shape, d]) => element('path', { class: `${shape} ${colour}`, d }))
}

function labelsBeside(
	layers: readonly Layer[],
	toY: Scale,
	bottom: number,
	{ series, lines, colourOf }: Beside,
): readonly SideLabel[] {
	const names = layers.map(({ name, end }): SideLabel => {
		return { text: name, y: end === undefined ? bottom : toY(end), colour: colourOf(name), kind: 'series' }
	})
	const levels = lines.map(({ value, label }): SideLabel => {
		return { text: label, y: toY(drawable(value) ?? 0), colour: 'axis', kind: 'reference' }
	})
	// In a stack the topmost layer comes last; among equals its name is to come first.
	return [...levels, ...(series ? names.toReversed() : [])]
}

/** The numbers at the ticks. */
function tickTexts({ values, step }: Ticks): readonly string[] {
	return values.map((value) => figure(value, decimalsOf(step)))
}

/** The room that an axis needs for its numbers. */
export const tickRoom = (ticks: Ticks): number =>
	Math.max(0, ...tickTexts(ticks).map((text) => textWidth(text, FONT.small)))

/** The axis below the last plot. */
export function xAxis(extent: Extent, { left, right, toX }: Columns, top: number, label: string): Placed {
	const ticks = roomyTicks(extent, right - left)
	const texts = tickTexts(ticks)
	const marks = ticks.values.flatMap((value, index) => {
		const x = toX(value)
		const text = texts[index] ?? ''
		// A long number at either end would leave the picture.
		const half = textWidth(text, FONT.small) / 2
		const middle = Math.max(half + 2, Math.min(WIDTH - half - 2, x))
		return [
			element('path', { class: 'axis', d: `M${coordinate(x)} ${coordinate(top)}v4` }),
			textAt(middle, top + 17, 'small muted', text, 'middle'),
		]
	})
	const name = shortened(label, right - PADDING, inPixels(FONT.small))
	return { marks: [...marks, textAt(right, top + 33, 'small muted', name, 'end')], bottom: top + 36 }
}

/** As many ticks as their numbers leave room for. */
function roomyTicks(extent: Extent, width: number): Ticks {
	let atMost = Math.max(1, Math.floor(width / 70))
	let ticks = innerTicks(extent, atMost)
	const distance = (): number => (ticks.step / (extent.greatest - extent.least)) * width
	// Half of the room more, for the numbers at the ends may have been moved inwards.
	while (atMost > 1 && tickRoom(ticks) * 1.5 > distance()) ticks = innerTicks(extent, --atMost)
	return ticks
}
