/** `node scripts/grpc-conformance.ts`: writes the tables of docs/guide/grpc-conformance.md. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Rule, Section } from '../test/grpc/conformance/rules/rule.ts'
import { SECTIONS } from '../test/grpc/conformance/rules/sections.ts'

const PAGE = new URL('../docs/guide/grpc-conformance.md', import.meta.url)
/** The tables are the end of the page. */
const HEADING = '## The rules\n'

/** Returns a cell: how a client behaves. */
function behaviour(differences: Rule['grpcJs'] = []): string {
	const texts = [differences].flat()
	return texts.length === 0 ? 'as A6' : `**${texts.join('; ')}**`
}

/** Returns the files with the tests of a rule. */
function filesOf({ grpcJs }: Rule, { file, differences }: Section): string {
	const files = grpcJs && differences ? [file, differences] : [file]
	return files.map((path) => `\`${path.slice(path.lastIndexOf('/') + 1)}\``).join(', ')
}

function toTable(section: Section): string {
	const { title, prefix, file, rules } = section
	const rows = rules.map((rule) => [
		rule.rule,
		behaviour(rule.grpcJs),
		behaviour(rule.yaoki),
		filesOf(rule, section),
	])
	return [
		`### ${title}`,
		'',
		`Tests: \`${prefix.trim()} ...\` in \`${file}\``,
		'',
		'| rule and name of the test | grpc-js 1.14 | Yaoki | test |',
		'|---|---|---|---|',
		...rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`),
		'',
	].join('\n')
}

/** Returns the page with the current tables. */
export function withRules(page: string): string {
	const start = page.indexOf(HEADING)
	if (start < 0) throw new Error(`The page has no heading ${HEADING}`)
	return [page.slice(0, start) + HEADING, ...SECTIONS.map(toTable)].join('\n')
}

if (import.meta.main) writeFileSync(PAGE, withRules(readFileSync(PAGE, 'utf8')))
