/**
 * Everything that a user of an entry can see, as text for a review: the exported names with their whole declarations,
 * and then what has no public name but shows through them, such as a base class. Comments are left out.
 */
import { type Node, walk } from '../syntax-node.ts'
import { tool } from '../tools.ts'
import {
	declarationOf,
	find,
	placeOf,
	type Reference,
	readDeclarations,
	statementsOf,
} from './declarations.ts'

export interface Listing {
	readonly names: readonly string[]
	readonly text: string
}

/** The part of a node that names something declared elsewhere. */
const MENTIONS: Readonly<Record<string, string>> = {
	TSTypeReference: 'typeName',
	TSTypeQuery: 'exprName',
	TSQualifiedName: 'left',
	TSInterfaceHeritage: 'expression',
	TSClassImplements: 'expression',
	ClassDeclaration: 'superClass',
}

/** `entries`: the name of each entry of the package and its .d.ts file. */
export function listSurface(entries: ReadonlyMap<string, string>): Map<string, Listing> {
	// A type that is listed under one entry is not listed again under the next.
	const listed = new Set<string>()
	for (const file of entries.values()) {
		for (const reference of readDeclarations(file).exported.values())
			listed.add(placeOf(declarationOf(reference)))
	}
	return new Map([...entries].map(([entry, file]) => [entry, list(entry, file, listed)]))
}

function list(entry: string, file: string, listed: Set<string>): Listing {
	const exported = [...readDeclarations(file).exported].sort(([a], [b]) => (a < b ? -1 : 1))
	const names = exported.map(([name]) => name)
	const hidden: Reference[] = []
	const parts = exported.map(([name, reference]) => {
		const found = declarationOf(reference)
		hidden.push(...seenThrough(found, listed))
		return textOf(found) + (name === found.name ? '' : `\nexport { ${found.name} as ${name} }`)
	})
	hidden.sort((a, b) => (a.name < b.name ? -1 : 1))
	return {
		names,
		text: format([
			`// ${entry}: ${names.length} names. Written by \`npm run surface\`.`,
			...parts,
			...(hidden.length > 0 ? ['// Without a public name, but seen through the above:'] : []),
			...hidden.map(textOf),
		]),
	}
}

/** Types that a declaration uses without being exported, and what they use in turn. */
function seenThrough(from: Reference, listed: Set<string>): Reference[] {
	return mentionedBy(from).flatMap((found) => {
		if (listed.has(placeOf(found))) return []
		listed.add(placeOf(found))
		return [found, ...seenThrough(found, listed)]
	})
}

/** Returns what a declaration names, apart from what other packages declare. */
export function mentionedBy(from: Reference): Reference[] {
	const mentioned: Reference[] = []
	walk(statementsOf(from), (node) => {
		const mention = MENTIONS[node.type]
		const name = mention === undefined ? undefined : Object(node[mention]).name
		const found = typeof name === 'string' ? find({ file: from.file, name }) : undefined
		if (found) mentioned.push(found)
	})
	return mentioned
}

/** The source of a declaration without its comments and without what is private to a class. */
function textOf(reference: Reference): string {
	const { text, comments } = readDeclarations(reference.file)
	return statementsOf(reference)
		.map((statement) => {
			const cuts = [...comments]
			walk(statement, (node) => {
				if (isPrivate(node)) cuts.push(node)
			})
			const inside = cuts
				.filter(({ start, end }) => start >= statement.start && end <= statement.end)
				.sort((a, b) => b.start - a.start)
			return inside.reduce(
				(left, { start, end }) => left.slice(0, start - statement.start) + left.slice(end - statement.start),
				text.slice(statement.start, statement.end),
			)
		})
		.join('\n')
		.replace(/\n\s*\n/g, '\n')
}

/** A private constructor stays listed, because users must know that they cannot create the class. */
const isPrivate = ({ type, key, accessibility, kind }: Node): boolean =>
	(type === 'PropertyDefinition' && Object(key).type === 'PrivateIdentifier') ||
	(accessibility === 'private' && kind !== 'constructor')

/** By the project's own formatter, so that neither the compiler's line breaks nor the source's show up in a diff. */
function format(parts: readonly string[]): string {
	const text = parts.join('\n\n')
	const { ok, stdout, output } = tool(
		'@biomejs/biome',
		'biome',
		['format', '--stdin-file-path=surface.d.ts'],
		text,
	)
	if (!ok) throw new Error(`the listing cannot be formatted:\n${output}`)
	return stdout.replace(/^(export )?(declare )?(?=abstract|class|const|enum|function|interface|type)/gm, '')
}
