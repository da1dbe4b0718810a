/**
 * One HTML file that can be mailed, archived and opened without a network: styles are inline, and there is no
 * script. A content security policy forbids the page to load or run anything, so that not even markup in a
 * name could.
 */
import { cellText, columnAlign, type Table } from '../../text/table.ts'
import { DARK, LIGHT, type Theme } from '../charts/stylesheet.ts'
import { element, escapeXml } from '../charts/svg.ts'

/** A paragraph, a table, or the markup of a chart, which is inserted as it is. */
export type Block = string | { readonly table: Table; readonly caption: string } | { readonly svg: string }

export function renderPage(title: string, blocks: readonly Block[]): string {
	const head = [
		'<meta charset="utf-8">',
		'<meta name="viewport" content="width=device-width, initial-scale=1">',
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
		'<meta name="color-scheme" content="light dark">',
		element('title', {}, escapeXml(title)),
		`<style>\n${STYLE}\n</style>`,
	]
	const body = [element('h1', {}, escapeXml(title)), ...blocks.map(renderBlock)]
	return [
		'<!doctype html>',
		'<html lang="en">',
		`<head>\n${head.join('\n')}\n</head>`,
		`<body>\n<main>\n${body.join('\n')}\n</main>\n</body>`,
		'</html>\n',
	].join('\n')
}

function renderBlock(block: Block): string {
	if (typeof block === 'string') return element('p', {}, escapeXml(block))
	if ('svg' in block) return element('figure', {}, block.svg.trimEnd())
	return element('figure', {}, renderTable(block.table), element('figcaption', {}, escapeXml(block.caption)))
}

function renderTable(table: Table): string {
	const cells = (name: 'td' | 'th', row: readonly (string | number)[]): string => {
		const rendered = row.map((cell, column) =>
			element(name, { class: columnAlign(table, column) }, escapeXml(cellText(cell))),
		)
		return element('tr', {}, ...rendered)
	}
	const head = table.head ? element('thead', {}, cells('th', table.head)) : ''
	const rows = table.rows.map((row) => cells('td', row))
	return element('table', {}, head, element('tbody', {}, '\n', rows.join('\n'), '\n'))
}

const colors = ({ background, text, muted, grid }: Theme): string =>
	[
		`body{background:${background};color:${text}}`,
		`figcaption,th{color:${muted}}`,
		`th,td{border-color:${grid}}`,
	].join('\n')

const STYLE = `body{margin:0;font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:812px;margin:0 auto;padding:24px 16px 64px}
h1{font-size:28px;line-height:1.25;margin:16px 0}
p{max-width:68ch}
figure{margin:20px 0;overflow-x:auto}
figcaption{font-size:14px;margin-top:6px}
svg{display:block;max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid;white-space:nowrap}
th{font-weight:600;font-size:14px}
.left{text-align:left}
.right{text-align:right;padding:5px 0 5px 22px}
${colors(LIGHT)}
@media (prefers-color-scheme:dark){
${colors(DARK)}
}`
