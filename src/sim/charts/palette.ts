/**
 * Colors for light and dark backgrounds. The six series colors were found by search: of all sets with enough contrast they are
 * farthest apart for normal vision and for the three kinds of color blindness. The lightness of the ramp changes monotonically,
 * so that the order is visible without color; in dark mode it is reversed, and high values stand out in both.
 */

export interface Theme {
	readonly background: string
	readonly text: string
	readonly muted: string
	readonly axis: string
	readonly grid: string
	readonly shade: string
	readonly series: readonly string[]
	/** Colors for shares from 0 to 1, in equal steps. */
	readonly ramp: readonly string[]
}

/** One step for each tenth from 0 to 1, both included. */
export const RAMP_STEPS = 11

export const LIGHT: Theme = {
	background: '#ffffff',
	text: '#1f2328',
	muted: '#59636e',
	axis: '#8b949e',
	grid: '#e6e9ed',
	shade: '#fcefdc',
	series: ['#235fa3', '#ea6114', '#2a9d89', '#5f1470', '#74540c', '#1b1f24'],
	ramp: ramp(['#fdf6e3', '#fbca72', '#e8743b', '#a8324a', '#43104b']),
}

export const DARK: Theme = {
	background: '#0d1117',
	text: '#e6edf3',
	muted: '#9aa4af',
	axis: '#6e7681',
	grid: '#262c35',
	shade: '#2b2317',
	series: ['#3391f0', '#e67819', '#64cdb9', '#b0689a', '#f2ca39', '#eff3f6'],
	ramp: ramp(['#1c2230', '#5b2a6b', '#b53f5e', '#f0803c', '#ffe08a']),
}

function ramp(stops: readonly string[]): readonly string[] {
	return Array.from({ length: RAMP_STEPS }, (_, step) => {
		const position = (step / (RAMP_STEPS - 1)) * (stops.length - 1)
		const from = Math.min(Math.floor(position), stops.length - 2)
		const [before, after] = [channels(stops[from]), channels(stops[from + 1])]
		const mixed = before.map((value, index) => value + ((after[index] ?? 0) - value) * (position - from))
		return `#${mixed.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`
	})
}

function channels(color = '#000000'): readonly number[] {
	return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16))
}

/** Returns the WCAG contrast ratio of two colors, from 1 to 21 (black on white). */
export function contrast(one: string, other: string): number {
	const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
	return (lighter + 0.05) / (darker + 0.05)
}

/** Returns the relative luminance of a color, from 0 to 1. */
export function luminance(color: string): number {
	const [red = 0, green = 0, blue = 0] = channels(color).map((value) => {
		const share = value / 255
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
	})
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Returns black or white, whichever has more contrast on the color. */
export const inkOn = (color: string): string =>
	contrast('#000000', color) > contrast('#ffffff', color) ? '#000000' : '#ffffff'
