/**
 * One file that can be mailed, archived and opened without a network: styles are inside, and there is no script. A content
 * policy in the page forbids to load or run anything, so that not even a name that slipped through somewhere could.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { element } from './element.ts'
import { escapeXml } from './escape.ts'
import { DARK, LIGHT, type Theme } from './palette.ts'
import { alignOf, cellText, type Table } from './table.ts'

export interface Page {
	readonly title: string
	/** Of the text, such as `'ja'`. Default `'en'`. */
	readonly language?: string | undefined
	readonly sections: readonly Section[]
}

/** A heading, and what stands below it. */
interface Section {
	readonly title?: string | undefined
	readonly content: readonly Block[]
}

/** A text is a paragraph. A picture is one that this package has drawn: its markup is taken as it is. */
export type Block =
	| string
	| { readonly table: Table; readonly caption?: string | undefined }
	| { readonly svg: string; readonly caption?: string | undefined }
	| { readonly code: string }

/**
 * A whole HTML page.
 *
 * @example
 * const html = page({
 *   title: 'Thundering herd',
 *   sections: [{ title: 'Calls', content: ['Mean of 10 seeds.', { svg: lineChart(chart) }] }],
 * })
 */
export function page({ title, language = 'en', sections }: Page): string {
	const head = [
		'<meta charset="utf-8">',
		'<meta name="viewport" content="width=device-width, initial-scale=1">',
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
		'<meta name="color-scheme" content="light dark">',
		element('title', {}, escapeXml(title)),
		`<style>\n${STYLE}\n</style>`,
	]
	const body = [element('h1', {}, escapeXml(title)), ...sections.map(drawSection)]
	return [
		'<!doctype html>',
		`<html lang="${escapeXml(language)}">`,
		`<head>\n${head.join('\n')}\n</head>`,
		`<body>\n<main>\n${body.join('\n')}\n</main>\n</body>`,
		'</html>\n',
	].join('\n')
}

function drawSection({ title, content }: Section, index: number): string {
	const heading = title === undefined ? [] : [element('h2', {}, escapeXml(title))]
	const blocks = content.map((block, at) => drawBlock(block, `sections[${index}].content[${at}]`))
	return element('section', {}, `\n${[...heading, ...blocks].join('\n')}\n`)
}

function drawBlock(block: Block, path: string): string {
	if (typeof block === 'string') return element('p', {}, escapeXml(block))
	if ('code' in block) return element('pre', {}, element('code', {}, escapeXml(block.code)))
	const caption = block.caption === undefined ? '' : element('figcaption', {}, escapeXml(block.caption))
	if ('table' in block) return element('figure', {}, drawTable(block.table), caption)
	if (!/^<svg[\s>]/.test(block.svg))
		invalidOption(`${path}.svg`, block.svg, 'a picture that begins with <svg')
	return element('figure', {}, block.svg.trimEnd(), caption)
}

function drawTable(table: Table): string {
	const cells = (name: 'td' | 'th', row: readonly (string | number)[]): string => {
		const drawn = row.map((cell, column) =>
			element(name, { class: alignOf(table, column) }, escapeXml(cellText(cell))),
		)
		return element('tr', {}, ...drawn)
	}
	const head = table.head ? element('thead', {}, cells('th', table.head)) : ''
	const rows = table.rows.map((row) => cells('td', row))
	return element('table', {}, head, element('tbody', {}, '\n', rows.join('\n'), '\n'))
}

const colours = ({ background, text, muted, grid }: Theme): string =>
	[
		`body{background:${background};color:${text}}`,
		`figcaption,th{color:${muted}}`,
		`th,td{border-color:${grid}}`,
		`pre{background:${grid}}`,
	].join('\n')

const STYLE = `body{margin:0;font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:812px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:28px;line-height:1.25;margin:16px 0}
h2{font-size:20px;margin:40px 0 8px}
p{max-width:68ch}
figure{margin:20px 0;overflow-x:auto}
figcaption{font-size:14px;margin-top:6px}
svg{display:block;max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid;white-space:nowrap}
th{font-weight:600;font-size:14px}
.left{text-align:left}
.right{text-align:right;padding:5px 0 5px 22px}
pre{padding:12px 14px;border-radius:6px;overflow-x:auto;font-size:14px}
${colours(LIGHT)}
@media (prefers-color-scheme:dark){
${colours(DARK)}
}`
