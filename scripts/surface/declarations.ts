/**
 * One emitted .d.ts file: what it declares, and where the names come from that it does not. The compiler has no interface for
 * programs in this version, so the file is parsed and its imports are followed by hand.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type ESTree, parseSync } from 'vite'

/** A name in a file. */
export interface Reference {
	readonly file: string
	readonly name: string
}

export interface Declarations {
	readonly text: string
	readonly comments: readonly { readonly start: number; readonly end: number }[]
	/** A function has one statement for each overload. */
	readonly declared: ReadonlyMap<string, readonly ESTree.Statement[]>
	/** Names from other packages are not among them. */
	readonly imported: ReadonlyMap<string, Reference>
	readonly exported: ReadonlyMap<string, Reference & { readonly isType?: boolean }>
}

const cache = new Map<string, Declarations>()

export function readDeclarations(file: string): Declarations {
	const declarations = cache.get(file) ?? parseDeclarations(file, readFileSync(file, 'utf8'))
	cache.set(file, declarations)
	return declarations
}

function parseDeclarations(file: string, text: string): Declarations {
	const { program, comments, errors } = parseSync(file, text)
	const fail = (why: string): never => {
		throw new Error(`${file}: ${why}`)
	}
	if (errors[0]) fail(errors[0].message)
	const declared = new Map<string, ESTree.Statement[]>()
	const imported = new Map<string, Reference>()
	const exported = new Map<string, Reference & { readonly isType?: boolean }>()
	const declare = (statement: ESTree.Statement, declaration: unknown): string[] => {
		const names = namesOf(declaration)
		for (const name of names) declared.set(name, [...(declared.get(name) ?? []), statement])
		return names
	}
	for (const statement of program.body) {
		if (statement.type === 'ImportDeclaration') {
			for (const { local, ...rest } of statement.specifiers) {
				const name = 'imported' in rest ? nameOf(rest.imported) : '*'
				if (isOwn(statement.source.value))
					imported.set(local.name, { file: beside(file, statement.source.value), name })
			}
		} else if (statement.type === 'ExportNamedDeclaration') {
			for (const name of declare(statement, statement.declaration)) exported.set(name, { file, name })
			for (const specifier of statement.specifiers) {
				const from = statement.source ? beside(file, statement.source.value) : file
				const isType = [statement.exportKind, specifier.exportKind].includes('type')
				exported.set(nameOf(specifier.exported), { file: from, name: nameOf(specifier.local), isType })
			}
		} else if (statement.type === 'ExportAllDeclaration') {
			fail(`export * from '${statement.source.value}' makes names public by accident: name them`)
		} else if (statement.type === 'ExportDefaultDeclaration') {
			fail('a default export has no name: name it')
		} else {
			declare(statement, statement)
		}
	}
	return { text, comments, declared, imported, exported }
}

/** Follows a name through imports and re-exports to where it is declared. Undefined: it is a global or another package's. */
export function find({ file, name }: Reference): Reference | undefined {
	const { declared, imported, exported } = readDeclarations(file)
	if (declared.has(name)) return { file, name }
	const elsewhere = imported.get(name) ?? exported.get(name)
	return elsewhere && find(elsewhere)
}

export function declarationOf(reference: Reference): Reference {
	const found = find(reference)
	if (!found) throw new Error(`${reference.name} is exported and nowhere declared (${reference.file})`)
	return found
}

export const statementsOf = ({ file, name }: Reference): readonly ESTree.Statement[] =>
	readDeclarations(file).declared.get(name) ?? []

/** Identifies a declaration. */
export const placeOf = ({ file, name }: Reference): string => `${file} ${name}`

const isOwn = (specifier: string): boolean => specifier.startsWith('.')
const beside = (file: string, specifier: string): string =>
	join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts'))
const nameOf = (node: ESTree.ModuleExportName): string => (node.type === 'Literal' ? node.value : node.name)

function namesOf(declaration: unknown): string[] {
	const { id, declarations } = Object(declaration)
	if (Array.isArray(declarations)) return declarations.flatMap(namesOf)
	return typeof id?.name === 'string' ? [id.name] : []
}
