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
	/** Colors for shares from 0 to 1, one step for each tenth. */
	readonly ramp: readonly string[]
	/** Returns the text color on a step of the ramp. */
	ink(step: number): string
}

export const RAMP_STEPS = 11

export const LIGHT: Theme = {
	background: '#ffffff',
	text: '#1f2328',
	muted: '#59636e',
	axis: '#8b949e',
	grid: '#e6e9ed',
	shade: '#fcefdc',
	series: ['#235fa3', '#ea6114', '#2a9d89', '#5f1470', '#74540c', '#1b1f24'],
	ramp: [
		...['#fdf6e3', '#fce4b6', '#fbd389', '#f7b967', '#f09651', '#e8743b'],
		...['#ce5a41', '#b53f47', '#942b4a', '#6b1e4b', '#43104b'],
	],
	ink: (step) => (step < 7 ? '#000000' : '#ffffff'),
}

export const DARK: Theme = {
	background: '#0d1117',
	text: '#e6edf3',
	muted: '#9aa4af',
	axis: '#6e7681',
	grid: '#262c35',
	shade: '#2b2317',
	series: ['#3391f0', '#e67819', '#64cdb9', '#b0689a', '#f2ca39', '#eff3f6'],
	ramp: [
		...['#1c2230', '#352548', '#4e285f', '#6d2e68', '#913763', '#b53f5e'],
		...['#cd5950', '#e47343', '#f3934c', '#f9ba6b', '#ffe08a'],
	],
	ink: (step) => (step < 6 ? '#ffffff' : '#000000'),
}
