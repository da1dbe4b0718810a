/**
 * Reads imports and global names of a source file. It uses a parser instead of patterns, so that a clock in a comment, in a string or
 * in a type does not count.
 */
import { parseSync } from 'vite'
import { isNode, type Node } from '../../scripts/syntax-node.ts'

export interface Source {
	/** From the root of the project, with forward slashes: `src/core/index.ts`. */
	readonly path: string
	readonly text: string
}

/** A name that a file uses, with its line. */
export interface Use {
	readonly name: string
	readonly line: number
}

export interface Import extends Use {
	/** `static` loads the module with its importer, `dynamic` later, `type` never. */
	readonly kind: 'static' | 'dynamic' | 'type'
}

/** Returns every import of a file: static, dynamic, re-exporting, of values and of types. */
export function findImports(source: Source): Import[] {
	return collect(source, (node) => {
		const from = node.type === 'TSExternalModuleReference' ? node['expression'] : node['source']
		if (!isNode(from)) return []
		const name = from.type === 'Literal' ? String(from['value']) : COMPUTED
		return [{ name, kind: kindOf(node) }]
	})
}

/** The name of an import whose specifier is an expression. */
const COMPUTED = 'a computed specifier'

function kindOf(node: Node): Import['kind'] {
	if (node.type === 'ImportExpression') return 'dynamic'
	const specifiers = (node['specifiers'] ?? []) as readonly Node[]
	const isType = (part: Node): boolean => [part['importKind'], part['exportKind']].includes('type')
	const onlyTypes = specifiers.length > 0 && specifiers.every(isType)
	return node.type === 'TSImportType' || isType(node) || onlyTypes ? 'type' : 'static'
}

/** Returns every global that a file reads, with its property: `setTimeout`, `Date.now`; `new Date` only without an argument. */
export function findGlobals(source: Source): Use[] {
	return collect(source, (node) => {
		const { type, id, init, callee } = node
		if (type === 'NewExpression' && (node['arguments'] as unknown[]).length === 0)
			return [{ name: `new ${dotted(callee)}` }]
		if (type === 'VariableDeclarator' && isNode(id) && id.type === 'ObjectPattern')
			return destructured(id, dotted(init)).map((name) => ({ name }))
		const name = dotted(node)
		return name === undefined ? [] : [{ name }]
	})
}

/** `const { now } = Date` reads `Date.now`. */
function destructured(pattern: Node, object: string | undefined): string[] {
	const names = (pattern['properties'] as Node[])
		.map(({ key }) => dotted(key))
		.filter((name) => name !== undefined)
	if (object === undefined) return []
	return names.map((name) => (object === 'globalThis' ? name : `${object}.${name}`))
}

function dotted(node: unknown): string | undefined {
	if (!isNode(node)) return undefined
	if (node.type === 'Identifier') return String(node['name'])
	if (node.type !== 'MemberExpression' || !isNode(node['property'])) return undefined
	const object = dotted(node['object'])
	const { type, name, value } = node['property']
	const property = type === 'Identifier' && !node['computed'] ? name : value
	if (object === undefined || property === undefined) return undefined
	return object === 'globalThis' ? String(property) : `${object}.${property}`
}

function collect<Item extends object>(
	{ path, text }: Source,
	find: (node: Node) => readonly Item[],
): (Item & { readonly line: number })[] {
	const { program, errors } = parseSync(path, text)
	const [error] = errors
	if (error) throw new SyntaxError(`${path}: ${error.message}`)
	const found: (Item & { readonly line: number })[] = []
	walk(program, (node) => {
		const items = find(node)
		if (items.length === 0) return
		const line = text.slice(0, node.start).split('\n').length
		for (const item of items) found.push({ ...item, line })
	})
	return found
}

function walk(value: unknown, visit: (node: Node) => void): void {
	if (Array.isArray(value)) for (const item of value) walk(item, visit)
	// `typeof setTimeout` in a type starts no timer.
	if (!isNode(value) || value.type === 'TSTypeQuery') return
	visit(value)
	for (const [part, child] of Object.entries(value)) {
		// A name after a dot or before a colon is a property and not a global.
		const isName = (part === 'property' || part === 'key') && !value['computed']
		if (!isName) walk(child, visit)
	}
}
