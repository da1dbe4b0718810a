/**
 * Colours for light and dark backgrounds. Those of series were searched for: of sets with enough contrast these six lie
 * farthest apart for normal sight and for the three kinds of colour blindness. The ramp changes in lightness all the way,
 * so that it is still an order without any colour; in the dark it runs the other way, and what is high stands out in both.
 */

/** One way to see the charts. */
export interface Theme {
	readonly background: string
	readonly text: string
	readonly muted: string
	readonly axis: string
	readonly grid: string
	readonly shade: string
	readonly series: readonly string[]
	/** From 0 to 1 in equal steps. */
	readonly ramp: readonly string[]
}

/** So many steps from 0 to 1, both included: one for each tenth. */
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
		const place = (step / (RAMP_STEPS - 1)) * (stops.length - 1)
		const from = Math.min(Math.floor(place), stops.length - 2)
		const [before, after] = [channels(stops[from]), channels(stops[from + 1])]
		const mixed = before.map((value, index) => value + ((after[index] ?? 0) - value) * (place - from))
		return `#${mixed.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`
	})
}

function channels(colour = '#000000'): readonly number[] {
	return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
}

/** The contrast of two colours by the rule of the accessibility guidelines: 1 is none, 21 that of black on white. */
export function contrast(one: string, other: string): number {
	const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
	return (lighter + 0.05) / (darker + 0.05)
}

/** How bright a colour is to the eye, 0 to 1. */
export function luminance(colour: string): number {
	const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
		const share = value / 255
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
	})
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Black or white, whichever is easier to read on this. */
export const inkOn = (colour: string): string =>
	contrast('#000000', colour) > contrast('#ffffff', colour) ? '#000000' : '#ffffff'
