/**
 * docs/guide/exports.md: every export, what it is for, and the page of the guide that uses it. The text is the first sentence of the doc
 * comment. The page of a function, class or constant is in guide-pages.ts. A type is on the page of the export that leads to it in the
 * fewest steps, unless guide-pages.ts names another.
 */
import { commentOf, kindOf } from './comments.ts'
import { declarationOf, placeOf, type Reference, readDeclarations } from './declarations.ts'
import { mentionedBy } from './listing.ts'

interface Export {
	readonly entry: string
	readonly name: string
	readonly declaration: Reference
	readonly isValue: boolean
}

/** The pages of the guide. */
export interface Guide {
	/** By file: `retry.md`. */
	readonly texts: ReadonlyMap<string, string>
	/** The exports that a page uses, separated by spaces, by the name of the page without `.md`. */
	readonly uses: Readonly<Record<string, string>>
}

/** Returns the page, and a sentence for each export without a comment or a page. `entries`: each entry and its .d.ts file. */
export function exportsPage(
	entries: ReadonlyMap<string, string>,
	{ texts, uses }: Guide,
): { readonly text: string; readonly problems: readonly string[] } {
	const problems: string[] = []
	const all = [...entries].flatMap(([entry, file]) => exportsOf(entry, file))
	const names = new Set(all.map(({ name }) => name))
	const pages = new Map<string, string>()
	for (const [page, used] of Object.entries(uses)) {
		const code = texts.get(`${page}.md`)?.match(CODE)?.join(' ') ?? ''
		for (const name of used.split(' ')) {
			if (!names.has(name)) problems.push(`${name} has a page, but it is not exported`)
			else if (pages.has(name)) problems.push(`${name} has two pages: ${pages.get(name)} and ${page}`)
			else if (!code.split(/[^\w$]+/).includes(name)) problems.push(`${page}.md does not use ${name}`)
			pages.set(name, page)
		}
	}
	const owners = all.filter(({ name }) => pages.has(name)).map(stepsFrom)
	const rows = all.map((one) => {
		const sentence = firstSentence(one.declaration)
		const owner = pages.has(one.name) || one.isValue ? undefined : nearest(one, owners)
		const page = pages.get(owner ?? one.name)
		if (sentence === undefined) problems.push(`${one.name} has no doc comment`)
		if (page === undefined) problems.push(`${one.name} has no page: add it to scripts/surface/guide-pages.ts`)
		const link = `[${page}](${page}.md)${owner === undefined ? '' : `, with \`${owner}\``}`
		return { ...one, row: `| \`${one.name}\` | ${sentence?.replaceAll('|', '\\|')} | ${link} |` }
	})
	const sections = [...entries.keys()].map((entry) => {
		const own = rows.filter((row) => row.entry === entry)
		const sorted = [...own.filter(({ isValue }) => isValue), ...own.filter(({ isValue }) => !isValue)]
		return [
			`## ${entry}`,
			'',
			'| name | what it is | page |',
			'|---|---|---|',
			...sorted.map(({ row }) => row),
			'',
		]
	})
	return { text: [HEAD, ...sections.flat()].join('\n'), problems }
}

const HEAD = `# All exports

*Reference*: what each entry of the package exports: first what can be called, created or caught, then the types. \`npm run surface\` writes this page from
the doc comments, which an editor shows too.
`

/** Blocks and words in code font. */
const CODE = /```.*?```|`[^`]+`/gs

function exportsOf(entry: string, file: string): Export[] {
	return [...readDeclarations(file).exported].sort().map(([name, reference]) => {
		const declaration = declarationOf(reference)
		return { entry, name, declaration, isValue: !reference.isType && !TYPES.includes(kindOf(declaration)) }
	})
}

const TYPES: readonly string[] = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration']

/** An export, with the number of steps to every declaration that it leads to. */
interface Owner extends Export {
	readonly steps: ReadonlyMap<string, number>
}

function stepsFrom(one: Export): Owner {
	const steps = new Map([[placeOf(one.declaration), 0]])
	const references = [one.declaration]
	for (const from of references) {
		for (const found of mentionedBy(from)) {
			if (steps.has(placeOf(found))) continue
			steps.set(placeOf(found), (steps.get(placeOf(from)) ?? 0) + 1)
			references.push(found)
		}
	}
	return { ...one, steps }
}

/** Returns the name of the nearest owner: in the same entry, in the fewest steps, with a name that the type starts with. */
function nearest({ entry, name, declaration }: Export, owners: readonly Owner[]): string | undefined {
	const place = placeOf(declaration)
	const distance = (owner: Owner): number =>
		(owner.entry === entry ? 0 : 1_000) +
		2 * (owner.steps.get(place) ?? Infinity) +
		(name.toLowerCase().startsWith(owner.name.toLowerCase()) ? 0 : 1)
	const [first] = owners.filter(({ steps }) => steps.has(place)).sort((a, b) => distance(a) - distance(b))
	return first?.name
}

const firstSentence = (declaration: Reference): string | undefined =>
	commentOf(declaration)
		?.split(/(?<=\.)\s|\n\n/)[0]
		?.replaceAll('\n', ' ')
