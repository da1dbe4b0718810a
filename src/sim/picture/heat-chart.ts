/** What a heat map is told, and what it refuses. */
import { invalidOption } from '../../core/options/schema.ts'
import { figure, roughly } from './figure.ts'

/** A share, 0 to 1, for every combination of two settings, and that for one variant or several. */
export interface HeatMap {
	readonly title: string
	readonly subtitle?: string | undefined
	/** The columns, from left to right. */
	readonly x: readonly (number | string)[]
	/** The rows, from the bottom up. */
	readonly y: readonly (number | string)[]
	readonly xLabel: string
	readonly yLabel: string
	/** What the share is one of, such as `'runs that never recover'`. */
	readonly valueLabel: string
	/** What an empty cell means. Default `'not known'`. */
	readonly unknownLabel?: string | undefined
	readonly panels: readonly HeatPanel[]
}

/** One variant. */
export interface HeatPanel {
	readonly title: string
	/** A row for each y with a cell for each x. Null and NaN are not known. */
	readonly cells: readonly (readonly (number | null)[])[]
}

export const DEFAULT_UNKNOWN_LABEL = 'not known'

/** Refuses what can not be drawn, by the path to it. */
export function checkHeatMap({ x, y, panels }: HeatMap): void {
	panels.forEach(({ cells }, panel) => {
		const path = `panels[${panel}].cells`
		if (cells.length !== y.length)
			invalidOption(`${path}.length`, cells.length, `${y.length}, one for each y`)
		cells.forEach((row, at) => {
			if (row.length !== x.length)
				invalidOption(`${path}[${at}].length`, row.length, `${x.length}, one for each x`)
			const odd = row.findIndex((value) => value !== null && (value < 0 || value > 1))
			if (odd >= 0) invalidOption(`${path}[${at}][${odd}]`, row[odd], 'a number from 0 to 1, or null')
		})
	})
}

/** The share in a cell, or undefined if it is not known. */
export function shareAt({ cells }: HeatPanel, row: number, column: number): number | undefined {
	const share = cells[row]?.[column]
	return share === undefined || share === null || Number.isNaN(share) ? undefined : share
}

/** Whether there is a cell that nothing is known of. */
export const hasUnknown = ({ panels }: HeatMap): boolean =>
	panels.some(({ cells }) => cells.some((row) => row.some((share) => share === null || Number.isNaN(share))))

/** The text of a value on an axis. */
export const axisText = (value: number | string): string =>
	typeof value === 'string' ? value : roughly(value)

/** A share in hundredths. What is not quite all does not read as all, nor what is more than nothing as nothing. */
export function percent(share: number): string {
	if (share > 0.99 && share < 1) return '99'
	return share > 0 && share < 0.01 ? '1' : figure(share * 100)
}

/** In words: of how many cells the share is none, some or all. */
export function describeHeatMap(map: HeatMap): string {
	const { subtitle, xLabel, yLabel, valueLabel, panels } = map
	const sentences = panels.map(({ title, cells }) => {
		const shares = cells.flat().filter((share) => share !== null && !Number.isNaN(share))
		const none = shares.filter((share) => share === 0).length
		const all = shares.filter((share) => share === 1).length
		return `${title}: of ${shares.length} cells ${none} are 0 %, ${all} are 100 %`
	})
	const first = `${valueLabel}, by ${xLabel} (across) and ${yLabel} (up)`
	return [subtitle, first, ...sentences]
		.filter(Boolean)
		.map((sentence) => `${sentence}.`)
		.join(' ')
}
