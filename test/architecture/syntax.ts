/**
 * What the rules need to know of a source file. It is read by a real parser and not by patterns, so that a clock in a
 * comment, in a string or in a type is none.
 */
import { parseSync } from 'vite'

export interface Source {
	/** From the root of the project, with forward slashes: `src/core/index.ts`. */
	readonly path: string
	readonly text: string
}

/** Something that stands in a file at a line. */
export interface Found {
	readonly what: string
	readonly line: number
}

interface Node {
	readonly type: string
	readonly start: number
	readonly [part: string]: unknown
}

const isNode = (value: unknown): value is Node =>
	typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** The specifier of every import: static, dynamic, re-exporting, of values and of types. */
export function importsOf(source: Source): Found[] {
	return collect(source, (node) => {
		const from = node.type === 'TSExternalModuleReference' ? node['expression'] : node['source']
		if (!isNode(from)) return []
		// What is computed can not be judged, and is told as what it is.
		return [from.type === 'Literal' ? String(from['value']) : 'an expression']
	})
}

/** Every global that is mentioned, with what is read of it: `setTimeout`, `Date.now`; `new Date` only without a time. */
export function globalsOf(source: Source): Found[] {
	return collect(source, (node) => {
		const { type, id, init, callee } = node
		if (type === 'NewExpression' && (node['arguments'] as unknown[]).length === 0)
			return [`new ${dotted(callee)}`]
		if (type === 'VariableDeclarator' && isNode(id) && id.type === 'ObjectPattern')
			return taken(id, dotted(init))
		return [dotted(node) ?? []].flat()
	})
}

/** `const { now } = Date` reads `Date.now`. */
function taken(pattern: Node, object: string | undefined): string[] {
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

function collect({ path, text }: Source, what: (node: Node) => readonly string[]): Found[] {
	const { program, errors } = parseSync(path, text)
	const [error] = errors
	if (error) throw new SyntaxError(`${path}: ${error.message}`)
	const found: Found[] = []
	walk(program, (node) => {
		for (const name of what(node))
			found.push({ what: name, line: text.slice(0, node.start).split('\n').length })
	})
	return found
}

function walk(value: unknown, visit: (node: Node) => void): void {
	if (Array.isArray(value)) for (const item of value) walk(item, visit)
	// `typeof setTimeout` in a type arms nothing.
	if (!isNode(value) || value.type === 'TSTypeQuery') return
	visit(value)
	for (const [part, child] of Object.entries(value)) {
		// A name after a dot or before a colon belongs to an object of the author's and is no global.
		const isName = (part === 'property' || part === 'key') && !value['computed']
		if (!isName) walk(child, visit)
	}
}
