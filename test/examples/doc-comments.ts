/**
 * Turns the examples in doc comments into modules. An example is short, so its imports are added: names of the package, names that only its own
 * file exports, and names of a user from example-names.ts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { named, page, ROOT } from './markdown.ts'
import { withCheck } from './snippets.ts'

const NAMES = 'test/examples/example-names.ts'

export interface DocExample {
	/** `src/core/retry/retry.ts:88` */
	readonly place: string
	readonly module: string
	/** True if it says what a line returns. Others need a network or a database, and are only compiled. */
	readonly hasChecks: boolean
}

/** Returns the examples of all doc comments. */
export async function docExamples(): Promise<readonly DocExample[]> {
	const exported = await exportedNames()
	const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
	return files
		.filter((file) => file.endsWith('.ts'))
		.sort()
		.flatMap((file) => examplesIn(`src/${file.replaceAll('\\', '/')}`, exported))
}

/** Where a name comes from, and whether it is only a type. */
type Origins = ReadonlyMap<string, { readonly from: string; readonly isType: boolean }>

/** The exports of the package, from the page that lists them. */
async function exportedNames(): Promise<Origins> {
	const sections = page('docs/guide/exports.md').text.split('\n## ').slice(1)
	const rows = await Promise.all(
		sections.map(async (section) => {
			const [from = '', ...lines] = section.split('\n')
			const values: object = await import(from)
			return lines
				.filter((line) => line.startsWith('| `'))
				.map((line) => named(line)[0] ?? '')
				.map((name) => [name, { from, isType: !(name in values) }] as const)
		}),
	)
	return new Map(rows.flat())
}

function examplesIn(file: string, exported: Origins): readonly DocExample[] {
	const text = readFileSync(join(ROOT, file), 'utf8')
	if (!text.includes('@example')) return []
	const origins = new Map([...ownNames(NAMES), ...ownNames(file), ...exported])
	return parseSync(file, text)
		.comments.filter(({ type }) => type === 'Block')
		.flatMap(({ value, start }) => {
			const line = text.slice(0, start).split('\n').length
			const [, ...examples] = value.replaceAll(/^[ \t]*\* ?/gm, '').split('@example\n')
			return examples.filter(isInstalled).map((code, index) => ({
				place: `${file}:${line}${index > 0 ? `, example ${index + 1}` : ''}`,
				module: moduleOf(code, origins),
				hasChecks: code.includes('// => '),
			}))
		})
}

/** `npm run recipes` installs nice-grpc. */
const isInstalled = (code: string): boolean => !code.includes("'nice-grpc'")

/** The exports of a file. */
function ownNames(file: string): Origins {
	const { staticExports } = parseSync(file, readFileSync(join(ROOT, file), 'utf8')).module
	return new Map(
		staticExports
			.flatMap(({ entries }) => entries)
			// The names of users are declared only, which the parser takes for types.
			.map(({ exportName, isType }) => [
				exportName.name ?? '',
				{ from: `../../${file}`, isType: isType && file !== NAMES },
			]),
	)
}

function moduleOf(code: string, origins: Origins): string {
	const lines = code.split('\n')
	const written = lines.filter((line) => line.startsWith('import '))
	const body = lines.filter((line) => !line.startsWith('import ')).map(withCheck)
	const words = new Set(code.match(/[\w$]+/g))
	for (const word of written.join(' ').match(/[\w$]+/g) ?? []) words.delete(word)
	const added = [...origins]
		.filter(([name]) => words.has(name))
		.map(([name, { from, isType }]) => `import ${isType ? 'type ' : ''}{ ${name} } from '${from}'`)
	return [
		...written,
		...added,
		"import { check, checkThrows } from '../../test/examples/stand-ins.ts'",
		'export default async () => {',
		...body,
		'}',
		'',
	]
		.join('\n')
		.replace('\nexport default {', '\nconst exported = {')
}
