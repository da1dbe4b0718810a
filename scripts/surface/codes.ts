/**
 * The codes of errors, read from the sources with a parser: the declarations that users get do not say which code a class has.
 * A class that sets no `name` counts as its base class, because that is what a program sees.
 */
import { parseSync } from 'vite'
import { type Node, walk } from '../syntax-node.ts'

const BASE = 'YaokiError'
/** The type that lists the codes. */
const LIST = 'YaokiErrorCode'

/** A class, or `new YaokiError(...)`, in a source. */
interface CodedError {
	readonly className: string
	/** The base class. Undefined for `new`. */
	readonly base?: string
	/** Undefined: it is inherited. */
	readonly name?: string | undefined
	/** Undefined: it is inherited, or is not constant in the file. */
	readonly code: string | undefined
}

/** Returns the class of each code, and a sentence for each code that breaks a rule. `files`: the path and the text of each source. */
export function findCodes(files: ReadonlyMap<string, string>): {
	readonly classes: ReadonlyMap<string, string>
	readonly problems: readonly string[]
} {
	const found = [...files].flatMap(([file, text]) => readSource(file, text))
	const listed = found.filter(({ className }) => className === LIST).map(({ code }) => code)
	const declared = new Map(found.filter(({ base }) => base).map((one) => [one.className, one]))
	const classes = new Map<string, string>()
	const problems: string[] = []
	for (const one of found.filter(isOwn)) {
		const { name, code } = seen(one)
		const other = classes.get(code ?? '')
		const expected = name === BASE ? code : codeOf(name)
		if (one.base && declared.get(one.className) !== one) problems.push(`${one.className} is declared twice`)
		if (code === undefined) problems.push(`the code of a ${name} is not constant in its file`)
		else if (other && other !== name) problems.push(`${code} is the code of ${other} and of ${name}`)
		else if (code !== expected) problems.push(`${name} has the code ${code} instead of ${expected}`)
		else if (!listed.includes(code)) problems.push(`${code} of ${name} is missing in ${LIST}`)
		if (code !== undefined) classes.set(code, name)
	}
	for (const code of listed)
		if (!classes.has(code ?? '')) problems.push(`${code} is in ${LIST}, but no error has it`)
	return { classes, problems }

	function isOwn({ className, base = className }: CodedError): boolean {
		const parent = declared.get(base)
		return base === BASE || (parent !== undefined && isOwn(parent))
	}

	function seen({ base, name, code }: CodedError): { name: string; code: string | undefined } {
		const parent = base === undefined ? undefined : declared.get(base)
		const inherited = parent ? seen(parent) : { name: BASE, code }
		return { ...inherited, ...(name !== undefined && { name }) }
	}
}

/** The rule: `CircuitOpenError` has the code YAOKI_CIRCUIT_OPEN. */
const codeOf = (name: string): string =>
	`YAOKI_${name.replace(/Error$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, '_')}`.toUpperCase()

function readSource(file: string, text: string): CodedError[] {
	const { program, errors } = parseSync(file, text)
	if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`)
	const constants = new Map<unknown, unknown>()
	const found: CodedError[] = []
	walk(program, ({ type, id, init }) => {
		if (type === 'VariableDeclarator') constants.set(Object(id).name, init)
	})
	const constantOf = (node: unknown): string | undefined => {
		const { type, name } = Object(node)
		const literal = Object(type === 'Identifier' ? constants.get(name) : node)
		return literal.type === 'Literal' ? String(literal.value) : undefined
	}
	walk(program, (node) => {
		const className = Object(node['id']).name
		const base = Object(node['superClass']).name
		if (node.type === 'NewExpression' && Object(node['callee']).name === BASE)
			found.push({ className: BASE, code: constantOf(firstArgument(node)) })
		if (node.type === 'TSTypeAliasDeclaration' && className === LIST)
			walk(node, (part) => part.type === 'Literal' && found.push({ className, code: constantOf(part) }))
		if (node.type === 'ClassDeclaration' && base !== undefined && className !== BASE)
			found.push({ className, base, name: nameOf(node), code: constantOf(firstArgument(superCall(node))) })
	})
	return found

	function nameOf({ body }: Node): string | undefined {
		const members: readonly Node[] = Object(body).body
		const name = members.find(({ type, key }) => type === 'PropertyDefinition' && Object(key).name === 'name')
		return constantOf(name?.['value'])
	}
}

const firstArgument = (call: Node | undefined): unknown => Object(call?.['arguments'])[0]

function superCall(node: Node): Node | undefined {
	let found: Node | undefined
	walk(node, (part) => {
		if (part.type === 'CallExpression' && Object(part['callee']).type === 'Super') found = part
	})
	return found
}
