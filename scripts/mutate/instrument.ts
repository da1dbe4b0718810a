/**
 * Writes all mutants of a source file into one module. Each mutated expression asks `mutant(id)` whether its mutant is active, so that the
 * file is compiled once and not once for each mutant. Alternatives hold the original text of their parts: with mutated parts the size would
 * grow exponentially with the nesting.
 */
import { parseSync } from 'vite'

export interface Mutant {
	readonly id: number
	readonly file: string
	readonly line: number
	readonly column: number
	readonly original: string
	readonly replacement: string
}

interface Node {
	readonly type: string
	readonly start: number
	readonly end: number
	readonly [part: string]: unknown
}

const isNode = (value: unknown): value is Node =>
	typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

const OPERATORS: Readonly<Record<string, readonly string[]>> = {
	'<': ['<=', '>='],
	'<=': ['<', '>'],
	'>': ['>=', '<='],
	'>=': ['>', '<'],
	'===': ['!=='],
	'!==': ['==='],
	'+': ['-'],
	'-': ['+'],
	'*': ['/'],
	'/': ['*'],
	'%': ['*'],
	'**': ['*'],
	'&&': ['||'],
	'||': ['&&'],
	'??': ['&&'],
	'+=': ['-='],
	'-=': ['+='],
	'*=': ['/='],
	'/=': ['*='],
}

const REMOVABLE = new Set(['CallExpression', 'AssignmentExpression', 'UpdateExpression', 'AwaitExpression'])
const CONDITIONAL = new Set([
	'IfStatement',
	'ConditionalExpression',
	'WhileStatement',
	'DoWhileStatement',
	'ForStatement',
])
/** Types have no mutants; these wrap an expression. */
const TYPED_EXPRESSION = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression'])

/** Returns the instrumented text and adds the mutants of the file to the list. */
export function instrument(file: string, text: string, mutants: Mutant[]): string {
	const { program } = parseSync(file, text)
	const source = (node: Node): string => text.slice(node.start, node.end)

	/** `a ?? b && c` is a syntax error without parentheses. */
	const operand = (node: Node): string =>
		node.type === 'LogicalExpression' ? `(${source(node)})` : source(node)

	const add = (node: Node, replacement: string): number => {
		const id = mutants.length + 1
		const lines = text.slice(0, node.start).split('\n')
		const column = (lines.at(-1)?.length ?? 0) + 1
		mutants.push({ id, file, line: lines.length, column, original: source(node), replacement })
		return id
	}

	/** The text of a node with all mutants inside of it. */
	const emit = (node: Node): string => {
		const inner = withParts(node)
		// The block keeps an `else` behind it with its own `if`.
		if (node.type === 'ExpressionStatement' && isRemovable(node['expression']))
			return `{ if (!mutant(${add(node, '')})) { ${inner} } }`
		const choices = alternatives(node).map(
			(replacement) => `mutant(${add(node, replacement)}) ? (${replacement}) : `,
		)
		return choices.length === 0 ? inner : `(${choices.join('')}(${inner}))`
	}

	/** The text of a node whose children are replaced by theirs. */
	const withParts = (node: Node): string => {
		let result = ''
		let at = node.start
		for (const child of children(node)) {
			result += text.slice(at, child.start)
			const isCondition = CONDITIONAL.has(node.type) && child === node['test']
			result += isCondition ? negatable(child) : emit(child)
			at = child.end
		}
		return result + text.slice(at, node.end)
	}

	const negatable = (condition: Node): string => {
		const replacement = `!(${source(condition)})`
		return `(mutant(${add(condition, replacement)}) ? ${replacement} : ${emit(condition)})`
	}

	const alternatives = (node: Node): readonly string[] => {
		const { operator, left, right, argument, value, callee } = node
		switch (node.type) {
			case 'BinaryExpression':
			case 'LogicalExpression': {
				if (!isNode(left) || !isNode(right) || isText(left) || isText(right)) return []
				return (OPERATORS[String(operator)] ?? []).map(
					(other) => `${operand(left)} ${other} ${operand(right)}`,
				)
			}
			case 'AssignmentExpression': {
				if (!isNode(left) || !isNode(right)) return []
				return (OPERATORS[String(operator)] ?? []).map((other) => `${source(left)} ${other} ${source(right)}`)
			}
			case 'UpdateExpression': {
				const other = operator === '++' ? '--' : '++'
				return isNode(argument) ? [node['prefix'] ? other + source(argument) : source(argument) + other] : []
			}
			case 'UnaryExpression':
				return isNode(argument) && (operator === '!' || operator === '-') ? [source(argument)] : []
			case 'Literal':
				if (typeof value === 'boolean') return [String(!value)]
				return typeof value === 'number' ? [String(value + 1)] : []
			case 'CallExpression': {
				if (!isNode(callee)) return []
				const name = source(callee)
				const other = { 'Math.min': 'Math.max', 'Math.max': 'Math.min' }[name]
				return other === undefined ? [] : [source(node).replace(name, other)]
			}
			default:
				return []
		}
	}

	const instrumented = `${emit(program as unknown as Node)}\nfunction mutant(id) { return globalThis.activeMutant(id) }\n`
	// A test file that cannot import the module would reach no mutant.
	const [error] = parseSync(file, instrumented).errors
	if (error) throw new SyntaxError(`${file} with mutants: ${error.message}\n${error.codeframe}`)
	return instrumented
}

/** A text is joined by `+`, which no other operator can replace. */
const isText = (node: Node): boolean =>
	node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string')

const isRemovable = (expression: unknown): boolean =>
	isNode(expression) &&
	REMOVABLE.has(expression.type) &&
	!(isNode(expression['callee']) && expression['callee'].type === 'Super')

/** The children that run, in the order of the text. */
function children(node: Node): readonly Node[] {
	const found: Node[] = []
	for (const [part, value] of Object.entries(node)) {
		// Names of properties and parameters of types do not run. What is assigned to is not a value.
		if ((part === 'key' || part === 'property') && !node['computed']) continue
		if (part === 'left' && node.type === 'AssignmentExpression') continue
		if (part === 'argument' && node.type === 'UpdateExpression') continue
		for (const child of Array.isArray(value) ? value : [value])
			if (isNode(child) && (!child.type.startsWith('TS') || TYPED_EXPRESSION.has(child.type)))
				found.push(child)
	}
	found.sort((a, b) => a.start - b.start)
	// `{ a }` and `import { a }` have the same name twice at the same position.
	return found.filter((child, index) => index === 0 || child.start >= (found[index - 1]?.end ?? 0))
}
