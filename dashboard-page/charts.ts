/** Draws time series with uPlot. Loaded after the first paint. */
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface ChartData {
	/** Seconds since 1970. */
	readonly at: readonly number[]
	readonly values: readonly (readonly number[])[]
}

export interface ChartStyle {
	readonly colors: readonly string[]
	readonly axis: string
	readonly grid: string
	readonly font: string
	readonly height: number
	/** Without axes. */
	readonly isSmall: boolean
	readonly isBars: boolean
	/** Receives the index under the pointer. */
	onPoint(index: number | null): void
}

export interface Chart {
	update(data: ChartData): void
	remove(): void
}

/** Draws a chart that fills the width of the element. */
export function draw(element: HTMLElement, data: ChartData, style: ChartStyle): Chart {
	const axis: uPlot.Axis = {
		stroke: style.axis,
		font: style.font,
		grid: { stroke: style.grid, width: 1 },
		ticks: { stroke: style.grid, width: 1, size: 4 },
	}
	const bars = style.isBars && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }) } : {}
	const chart = new uPlot(
		{
			width: Math.max(80, element.clientWidth),
			height: style.height,
			legend: { show: false },
			padding: style.isSmall ? [2, 0, 2, 0] : [8, 28, 0, 0],
			cursor: { drag: { setScale: false }, y: false, points: { size: 6 } },
			scales: {
				// Half of the first and of the last bar would be outside.
				...(style.isBars ? { x: { range: widened } } : {}),
				y: { range: (_, _min, max) => [0, Math.max(1, max * 1.1)] },
			},
			axes: style.isSmall
				? [{ show: false }, { show: false }]
				: [
						{ ...axis, size: 28, space: 90, values: (_, times) => times.map(clock) },
						{
							...axis,
							size: 58,
							incrs: [
								0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5,
								5e5, 1e6,
							],
						},
					],
			series: [
				{},
				...style.colors.map(
					(stroke): uPlot.Series => ({
						stroke,
						width: 1.5,
						points: { show: false },
						...bars,
						...(style.isBars ? { fill: stroke, width: 0 } : {}),
					}),
				),
			],
			hooks: { setCursor: [({ cursor }) => style.onPoint(cursor.idx ?? null)] },
		},
		columns(data),
		element,
	)
	const resize = new ResizeObserver(() =>
		chart.setSize({ width: Math.max(80, element.clientWidth), height: style.height }),
	)
	resize.observe(element)
	return {
		update: (next) => chart.setData(columns(next)),
		remove: () => {
			resize.disconnect()
			chart.destroy()
		},
	}
}

const columns = ({ at, values }: ChartData): uPlot.AlignedData =>
	[[...at], ...values.map((column) => [...column])] as uPlot.AlignedData

/** Returns the range of the times with half a step on both sides. */
function widened({ data }: uPlot, min: number, max: number): [number, number] {
	const half = (max - min) / Math.max(1, 2 * ((data[0]?.length ?? 1) - 1))
	return [min - half, max + half]
}

/** In the reader's time zone, as all times of the page. */
function clock(seconds: number): string {
	const time = new Date(seconds * 1000)
	const two = (value: number): string => String(value).padStart(2, '0')
	const minutes = `${two(time.getHours())}:${two(time.getMinutes())}`
	return time.getSeconds() === 0 ? minutes : `${minutes}:${two(time.getSeconds())}`
}
