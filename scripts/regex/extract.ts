/** Finds the regular expressions of a source file: literals, and `new RegExp` of constant strings. */
import { parseSync } from 'vite'
import { isNode, type Node, walk } from '../syntax-node.ts'
import type { Pattern } from './parse.ts'

export interface FoundPattern {
	readonly line: number
	/** Undefined if the source of the pattern is computed at run time. */
	readonly pattern: Pattern | undefined
}

export function extractPatterns(path: string, text: string): readonly FoundPattern[] {
	const { program, errors } = parseSync(path, text)
	const [error] = errors
	if (error) throw new SyntaxError(`${path}: ${error.message}`)
	const constants = new Map<string, Node>()
	const nodes: Node[] = []
	walk(program, (node) => {
		nodes.push(node)
		const { id, init } = node
		if (node.type === 'VariableDeclarator' && isNode(id) && isNode(init))
			constants.set(String(id['name']), init)
	})
	return nodes.flatMap((node) => {
		const literal = literalPattern(node)
		if (!literal && !isConstructor(node)) return []
		const line = text.slice(0, node.start).split('\n').length
		return [{ line, pattern: literal ?? constructedPattern(node) }]
	})

	function constructedPattern(node: Node): Pattern | undefined {
		const [first, second] = node['arguments'] as readonly unknown[]
		const source = evaluate(first)
		const flags = second === undefined ? '' : evaluate(second)
		return source === undefined || flags === undefined ? undefined : { source, flags }
	}

	/** Returns the value of an expression of constant strings. */
	function evaluate(node: unknown): string | undefined {
		if (!isNode(node)) return undefined
		if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value']
		if (node.type === 'Identifier') return evaluate(constants.get(String(node['name'])))
		if (node.type === 'BinaryExpression' && node['operator'] === '+')
			return join([node['left'], node['right']])
		if (node.type === 'TemplateLiteral') return templateValue(node)
		if (node.type === 'MemberExpression' && isNode(node['property']) && node['property']['name'] === 'source')
			return sourceOf(node['object'])
		return undefined
	}

	function templateValue({ quasis, expressions }: Node): string | undefined {
		const texts = (quasis as readonly { readonly value: { readonly cooked: string } }[]).map(
			({ value }) => value.cooked,
		)
		const values = (expressions as readonly unknown[]).map(evaluate)
		return values.includes(undefined)
			? undefined
			: texts.map((one, index) => one + (values[index] ?? '')).join('')
	}

	function sourceOf(node: unknown): string | undefined {
		const given = isNode(node) && node.type === 'Identifier' ? constants.get(String(node['name'])) : node
		return isNode(given) ? literalPattern(given)?.source : undefined
	}

	function join(parts: readonly unknown[]): string | undefined {
		const values = parts.map(evaluate)
		return values.includes(undefined) ? undefined : values.join('')
	}
}

function literalPattern({ type, regex }: Node): Pattern | undefined {
	if (type !== 'Literal' || typeof regex !== 'object' || regex === null) return undefined
	const { pattern, flags } = regex as { pattern: string; flags: string }
	return { source: pattern, flags }
}

const isConstructor = ({ type, callee }: Node): boolean =>
	(type === 'NewExpression' || type === 'CallExpression') && isNode(callee) && callee['name'] === 'RegExp'
