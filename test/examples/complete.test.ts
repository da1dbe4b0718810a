/** Looks for what users can call in the guide. Options, events, metrics and error codes are compared with tables by other files. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { expect, test } from 'vitest'
import { yaoki } from '../../src/cli/commands.ts'
import { PROGRAM_OPTIONS, toFlag } from '../../src/cli/option-tables.ts'
import { pages, ROOT } from './markdown.ts'

/** The blocks and the words in code font of each page that is written by hand. */
const codeOfPages: readonly string[] = pages()
	.filter(({ path }) => path.startsWith('docs/guide/') && path !== 'docs/guide/exports.md')
	.map(({ text }) => text.match(/^```.*?^```$|`[^`\n]+`/gms)?.join('\n') ?? '')

test('every option of the program is in the guide', () => {
	const code = codeOfPages.join('\n')
	for (const name of Object.keys(PROGRAM_OPTIONS)) expect(code).toMatch(withoutNeighbors(toFlag(name)))
})

test.each(yaoki.commands)(
	'the command $name is in the guide, and its options on the same pages',
	async ({ name, load }) => {
		const call = new RegExp(`(?:yaoki |\`)${name}(?![\\w-])`)
		const code = codeOfPages.filter((one) => call.test(one)).join('\n')
		const { options } = await load()
		const missing = Object.keys(options)
			.map(toFlag)
			.filter((flag) => !withoutNeighbors(flag).test(code))
		expect([code !== '', missing]).toEqual([true, []])
	},
)

const withoutNeighbors = (flag: string): RegExp => new RegExp(`(?<![\\w-])${flag}(?![\\w-])`)

const surfaces = readdirSync(join(ROOT, 'test/surface')).filter((file) => file.startsWith('yaoki'))
test.each(surfaces)('every function in %s that belongs to a class or an object is in the guide', (file) => {
	const code = codeOfPages.join('\n')
	const missing = functionsIn(file).filter(
		([, name]) => !new RegExp(`[\`.]${name}(?!\\w)|\\b${name}[(:]`).test(code),
	)
	expect(missing.map((names) => names.join('.'))).toEqual([])
})

/** Returns the functions and accessors of the exported classes and interfaces, with the names of those. */
function functionsIn(file: string): readonly (readonly [owner: string, name: string])[] {
	const [exported = ''] = readFileSync(join(ROOT, 'test/surface', file), 'utf8').split(
		'// Without a public name',
	)
	const statements: readonly object[] = parseSync('surface.d.ts', exported).program.body
	return statements.flatMap((statement) => {
		const { type, id, body } = Object(statement)
		if (type !== 'ClassDeclaration' && type !== 'TSInterfaceDeclaration') return []
		return body.body
			.filter(isPublicFunction)
			.map(({ key }: { readonly key: { readonly name: string } }) => [id.name, key.name])
	})
}

function isPublicFunction(member: object): boolean {
	const { type, key, kind, computed, accessibility, typeAnnotation } = Object(member)
	// Programs write String(value).
	if (key?.name === 'toString') return false
	if (computed || accessibility) return false
	return (
		type === 'TSMethodSignature' ||
		(type === 'MethodDefinition' && kind !== 'constructor') ||
		typeAnnotation?.typeAnnotation.type === 'TSFunctionType'
	)
}

test('prose does not count what may grow, such as scenarios or presets', () => {
	const number = 'three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen'
	const noun =
		'adapters|alerts|causes|checks|commands|credential headers|curves|differences|error codes|events|examples|exporters|(?:more )?fields|files|findings|lint rules|metrics|presets|programs|scenarios|stores|strategies|symptoms'
	const counted = new RegExp(`\\b(?:${number}) (?:small |built-in |jitter |blocks of )?(?:${noun})\\b`, 'gi')
	const found = pages()
		.filter(({ path }) => !path.startsWith('docs/decisions/') && !path.startsWith('docs/scenarios/'))
		.flatMap(({ path, text }) => (text.match(counted) ?? []).map((count) => `${path}: ${count}`))
	expect(found).toEqual([])
})
