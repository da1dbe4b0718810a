/**
 * One stylesheet, embedded in every chart: a file that is opened alone, shown in a README or inlined in a
 * page follows the reader's light or dark mode. All rules are scoped to one class and identical in every
 * chart, so several charts in one page do not interfere. Colors use `currentColor` instead of CSS variables,
 * which many SVG viewers do not support.
 */
/**
 * Colors for light and dark backgrounds. The six series colors were found by search: of all sets with enough
 * contrast they are farthest apart for normal vision and for the three kinds of color blindness. The
 * lightness of the ramp changes monotonically, so that the order is visible without color. In dark mode it is
 * reversed, and high values stand out in both modes.
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

export const ROOT_CLASS = 'yaoki-chart'

export const FONT = { title: 17, subtitle: 13, label: 12, small: 11, cell: 10 } as const

const FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"

const SHAPES = [
	`text{font-family:${FAMILY};font-size:${FONT.label}px;font-variant-numeric:tabular-nums;fill:currentColor}`,
	`.title{font-size:${FONT.title}px;font-weight:600}`,
	`.subtitle{font-size:${FONT.subtitle}px}`,
	`.small{font-size:${FONT.small}px}`,
	`.cell{font-size:${FONT.cell}px}`,
	'.strong{font-weight:600}',
	'.grid,.axis,.reference,.line,.dot,.leader{fill:none;stroke:currentColor}',
	'.reference{stroke-width:1.25;stroke-dasharray:5 4}',
	'.line{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}',
	'.dot{stroke-width:5;stroke-linecap:round}',
	'.leader{stroke-width:1.25}',
	'.band{fill:currentColor;fill-opacity:.18}',
	'.layer{fill:currentColor;fill-opacity:.85}',
	'.dashed{stroke-dasharray:7 4}',
	'.unknown{fill:none;stroke:currentColor;stroke-dasharray:2 2}',
]

function colors({ background, text, muted, axis, grid, shade, series, ramp, ink }: Theme): readonly string[] {
	return [
		`.paper{fill:${background}}`,
		`text{color:${text}}`,
		`.muted{color:${muted}}`,
		`.reference{color:${muted}}`,
		`.axis,.unknown{color:${axis}}`,
		`.grid{color:${grid}}`,
		`.shade{fill:${shade}}`,
		...series.map((color, index) => `.s${index}{color:${color}}`),
		...ramp.flatMap((color, index) => [`.h${index}{fill:${color}}`, `.i${index}{color:${ink(index)}}`]),
	]
}

const scoped = (rules: readonly string[]): string =>
	rules
		.map((rule) => {
			const [selectors = '', body = ''] = rule.split('{')
			return `${selectors
				.split(',')
				.map((selector) => `.${ROOT_CLASS} ${selector}`)
				.join(',')}{${body}`
		})
		.join('\n')

/** Contains no `<`, `&` or `]]>`, so it needs no escaping in XML or HTML. */
export const STYLESHEET: string = [
	scoped([...SHAPES, ...colors(LIGHT)]),
	'@media (prefers-color-scheme:dark){',
	scoped(colors(DARK)),
	'}',
].join('\n')
