/** `node scripts/metrics-table.ts`: writes the table of all metrics in docs/guide/metrics-reference.md. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { METRICS, type MetricDefinition } from '../src/telemetry/metrics/catalog.ts'

const PAGE = new URL('../docs/guide/metrics-reference.md', import.meta.url)
const HEADER = '| metric | type | labels | meaning |'

/** Returns the table in Markdown. */
export const metricsTable = (): string =>
	[HEADER, '|---|---|---|---|', ...Object.entries(METRICS).map(([name, metric]) => toRow(name, metric))].join(
		'\n',
	)

function toRow(name: string, { type, labels, help, buckets, combination }: MetricDefinition): string {
	const code = (text: string) => `\`${text}\``
	const range = buckets ? ` Buckets: ${buckets.join(', ')}.` : ''
	const cells = [
		code(name),
		combination ? `${type}, ${combination}` : type,
		labels.map(code).join(', '),
		help + range,
	]
	return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Returns the page with the current table. */
export function withTable(page: string): string {
	const start = page.indexOf(HEADER)
	if (start < 0) throw new Error(`The page has no table with the header ${HEADER}`)
	const rest = page.slice(start)
	const length = rest.search(/\n(?!\|)/)
	return page.slice(0, start) + metricsTable() + (length < 0 ? '\n' : rest.slice(length))
}

if (import.meta.main) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8')))
