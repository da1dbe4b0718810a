/**
 * What the bundler's minifier does not do. The package has no room for indentation and long variables, but stacks must be readable and
 * users' bundlers must be able to drop what a program does not use:
 *
 * - Every statement and every member of a class starts on a line of its own: a file of one line would be printed whole under an uncaught error.
 * - Private methods keep their names, because stacks show them. The minifier can only shorten all private names or none.
 * - Calls and spreads at the top level are marked as pure. That is true (`sideEffects` is false in package.json), but a bundler uses
 *   that field for whole files only, and these files are large.
 */
import { parseSync } from 'rolldown/utils'

interface Node {
	readonly type: string
	readonly start: number
	readonly end: number
	readonly [part: string]: unknown
}

interface Edit {
	readonly at: number
	readonly until?: number
	readonly text: string
}

/** The part of a node that lists statements or members. */
const LISTS: Readonly<Record<string, string>> = {
	Program: 'body',
	BlockStatement: 'body',
	FunctionBody: 'body',
	StaticBlock: 'body',
	ClassBody: 'body',
	SwitchCase: 'consequent',
}

const PURE = '/*@__PURE__*/'

/** `named` is the same code with all names. */
export function finish(file: string, code: string, named: string): string {
	const program = parse(file, code)
	const edits = [
		...lineBreaks(program),
		...(file.endsWith('.cjs') ? [] : pureMarks(program, code)),
		...methodNames(program, parse(file, named)),
	]
	let [text, from] = ['', 0]
	for (const { at, until = at, text: inserted } of edits.sort((a, b) => a.at - b.at)) {
		text += code.slice(from, at) + inserted
		from = until
	}
	return text + code.slice(from)
}

function parse(file: string, code: string): Node {
	const { program, errors } = parseSync(file, code)
	if (errors[0]) throw new Error(`${file}: ${errors[0].message}`)
	return program as unknown as Node
}

function lineBreaks(program: Node): Edit[] {
	return nodesIn(program).flatMap((node) => {
		const list = node[LISTS[node.type] ?? '']
		return Array.isArray(list)
			? list.map(({ start }: Node) => ({ at: start, text: start === 0 ? '' : '\n' }))
			: []
	})
}

function pureMarks(program: Node, code: string): Edit[] {
	return (program['body'] as Node[]).flatMap((statement) => {
		if (statement.type !== 'VariableDeclaration') return []
		return (statement['declarations'] as Node[]).flatMap(({ init }) => {
			const { type, start, end, properties } = Object(init) as Node
			const isMarked = code.slice(0, start).trimEnd().endsWith('*/')
			if ((type === 'CallExpression' || type === 'NewExpression') && !isMarked)
				return [{ at: start, text: PURE }]
			const hasSpread =
				type === 'ObjectExpression' && (properties as Node[]).some((one) => one.type === 'SpreadElement')
			return hasSpread
				? [
						{ at: start, text: `${PURE}(()=>(` },
						{ at: end, text: '))()' },
					]
				: []
		})
	})
}

function methodNames(program: Node, named: Node): Edit[] {
	const [short, long] = [nodesIn(program), nodesIn(named)]
	if (short.length !== long.length) throw new Error('The minifier changed more than names.')
	const methods = new Set(
		long.map((node) => (node.type === 'MethodDefinition' ? privateName(node['key']) : undefined)),
	)
	return short.flatMap((node, index) => {
		const name = privateName(long[index])
		if (name === undefined || !methods.has(name)) return []
		return [{ at: node.start, until: node.end, text: `#${name}` }]
	})
}

function privateName(node: unknown): string | undefined {
	const { type, name } = Object(node)
	return type === 'PrivateIdentifier' ? String(name) : undefined
}

function nodesIn(value: unknown, found: Node[] = []): Node[] {
	if (Array.isArray(value)) for (const item of value) nodesIn(item, found)
	else if (typeof value === 'object' && value !== null) {
		if ('type' in value && 'start' in value) found.push(value as Node)
		for (const child of Object.values(value)) nodesIn(child, found)
	}
	return found
}
