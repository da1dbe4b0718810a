/**
 * One stylesheet, embedded in every chart: a file that is opened alone, shown in a README or inlined in a page follows the
 * reader's light or dark mode. All rules are scoped to one class and identical in every chart, so several charts in one page do
 * not interfere. Colors use `currentColor` instead of CSS variables, which many SVG viewers do not support.
 */
import { DARK, LIGHT, type Theme } from './palette.ts'

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
