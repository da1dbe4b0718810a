/** What the bundler does not do: marks for other bundlers in ES modules, and line breaks in compact CommonJS. */
import type { OutputChunk } from 'rolldown'
import { parseSync } from 'rolldown/utils'

interface Node {
	readonly type: string
	readonly start: number
	readonly end: number
	readonly [part: string]: unknown
}

interface Insertion {
	readonly at: number
	readonly text: string
}

type Code = Pick<OutputChunk, 'fileName' | 'code'>

const PURE = '/* @__PURE__ */ '

/**
 * Marks calls and spreads at the top level as pure. They are (`sideEffects` is false in package.json), but a bundler
 * uses that field for whole files only, and these files are large.
 */
export function markPure(chunk: Code): string {
	const declarations = (parse(chunk)['body'] as Node[])
		.filter(({ type }) => type === 'VariableDeclaration')
		.flatMap((statement) => statement['declarations'] as Node[])
	const marks = declarations.flatMap(({ init }) => {
		const { type, start, end, properties } = Object(init) as Node
		const isMarked = chunk.code.slice(0, start).trimEnd().endsWith('*/')
		if ((type === 'CallExpression' || type === 'NewExpression') && !isMarked)
			return [{ at: start, text: PURE }]
		const hasSpread =
			type === 'ObjectExpression' && (properties as Node[]).some((one) => one.type === 'SpreadElement')
		return hasSpread
			? [
					{ at: start, text: `${PURE}(() => (` },
					{ at: end, text: '))()' },
				]
			: []
	})
	return insert(chunk.code, marks)
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

/** Starts every statement on a line of its own: a file of one line would be printed whole under an uncaught error. */
export function breakLines(chunk: Code): string {
	const breaks = nodesIn(parse(chunk)).flatMap((node) => {
		const list = node[LISTS[node.type] ?? '']
		return Array.isArray(list)
			? list.map(({ start }: Node) => ({ at: start, text: start === 0 ? '' : '\n' }))
			: []
	})
	return insert(chunk.code, breaks)
}

function parse({ fileName, code }: Code): Node {
	const { program, errors } = parseSync(fileName, code)
	if (errors[0]) throw new Error(`${fileName}: ${errors[0].message}`)
	return program as unknown as Node
}

function insert(code: string, insertions: Insertion[]): string {
	let [result, from] = ['', 0]
	for (const { at, text } of insertions.sort((a, b) => a.at - b.at)) {
		result += code.slice(from, at) + text
		from = at
	}
	return result + code.slice(from)
}

function nodesIn(value: unknown, found: Node[] = []): Node[] {
	if (Array.isArray(value)) for (const item of value) nodesIn(item, found)
	else if (typeof value === 'object' && value !== null) {
		if ('type' in value && 'start' in value) found.push(value as Node)
		for (const child of Object.values(value)) nodesIn(child, found)
	}
	return found
}
