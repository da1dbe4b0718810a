/**
 * Prints a policy given as data as the TypeScript that creates it, so that the result of `tune` or of the
 * playground can be pasted into a program. The output reads like hand-written code: budgets are constants,
 * and defaults are left out. A function cannot be printed; its name is, with a comment, so that the compiler
 * reports it as missing.
 */
import { invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { groupDigits } from '../../text/format.ts'
import { BUDGET_FACTORIES, type BudgetModel, LAYER_KINDS, type PolicyLayer } from './layers.ts'

const SHARED = '// Shared by all callers of this service: import it, do not create another one.'

/**
 * Returns the TypeScript that creates this policy, outermost layer first. It exports `policy` and everything
 * that is `shared`.
 *
 * @example
 * policyToTypeScript([{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1 } } }, { timeoutMs: 1_000 }])
 * // import { pipeline, retry, retryBudget, timeout } from 'yaoki'
 * //
 * // const budget = retryBudget({ maxRetryRatio: 0.1 })
 * //
 * // export const policy = pipeline(
 * //   retry({ maxRetries: 3, budget }),
 * //   timeout(1_000),
 * // )
 */
export function policyToTypeScript(layers: readonly PolicyLayer[]): string {
	const parts = layers.map(readLayer)
	/** Statements before the policy. */
	const constants: string[] = []
	const factories = new Set(['pipeline'])
	const functions = new Set<string>()
	const nameOf = numbered(
		parts.flatMap(({ factory, options, isShared }) => [
			...(isShared ? [sharedName(factory)] : []),
			...(hasBudget(options) ? ['budget'] : []),
		]),
	)

	/** Declares a constant and returns its name. */
	const constant = (wanted: string, isShared: boolean, valueAt: (column: number) => string): string => {
		const name = nameOf(wanted)
		const start = `${isShared ? 'export ' : ''}const ${name} = `
		constants.push(`${isShared ? `${SHARED}\n` : ''}${start}${valueAt(start.length)}`)
		return name
	}
	const budget = ({ kind = 'ratio', shared = false, ...options }: BudgetModel): string => {
		if (kind === 'quota') {
			const name = nameOf('budget')
			constants.push(
				`// ${name} is a quota, which exists only in the simulator: create a budget of your own here.`,
			)
			return name
		}
		if (!Object.hasOwn(BUDGET_FACTORIES, kind))
			invalidOption('budget.kind', kind, "'ratio', 'tokens' or 'quota'")
		return constant('budget', shared, (column) => call(BUDGET_FACTORIES[kind], options, column))
	}
	const option = (name: string, value: unknown): string => {
		if (typeof value === 'function') {
			functions.add(name)
			return name
		}
		const written = isBudget(name, value) ? budget(value) : literal(value, name.length)
		return written === name ? name : `${name}: ${written}`
	}
	/** `column` is the column where the call begins. */
	const call = (factory: string, options: unknown, column: number): string => {
		factories.add(factory)
		if (Object(options) !== options) return `${factory}(${literal(options)})`
		const written = entriesOf(options).map(([name, value]) => option(name, value))
		return `${factory}(${written.length === 0 ? '' : braces(written, column + factory.length)})`
	}

	const calls = parts.map(({ factory, options, isShared }) =>
		isShared
			? constant(sharedName(factory), true, (column) => call(factory, options, column))
			: call(factory, options, 2),
	)
	const from = " from 'yaoki'"
	const are = functions.size === 1 ? 'is a function' : 'are functions'
	const note = `// ${[...functions].join(', ')} ${are} of your own and must be in scope here.`
	const policy = calls.length === 0 ? 'pipeline()' : `pipeline(\n${listed(calls)})`
	const statements = [
		`import ${braces([...factories].sort(), 'import '.length + from.length)}${from}`,
		...(functions.size > 0 ? [note] : []),
		...constants,
		`export const policy = ${policy}`,
	]
	return `${statements.join('\n\n')}\n`
}

function readLayer(layer: PolicyLayer, index: number) {
	const kind = LAYER_KINDS.find((name) => Object(layer) === layer && Object.hasOwn(layer, name))
	if (kind === undefined)
		invalidArgument(`layers[${index}]`, layer, `an object with one of ${LAYER_KINDS.join(', ')}`)
	const options: unknown = (layer as Readonly<Record<string, unknown>>)[kind]
	return { factory: kind === 'timeoutMs' ? 'timeout' : kind, options, isShared: Boolean(layer.shared) }
}

const isBudget = (name: string, value: unknown): value is BudgetModel =>
	name === 'budget' && Object(value) === value

const hasBudget = (options: unknown): boolean =>
	Object(options) === options && entriesOf(options).some(([name, value]) => isBudget(name, value))

const sharedName = (factory: string): string => `shared${factory.charAt(0).toUpperCase()}${factory.slice(1)}`

/** Numbers names that are used more than once. */
function numbered(wanted: readonly string[]): (name: string) => string {
	const used = new Map<string, number>()
	return (name) => {
		const count = (used.get(name) ?? 0) + 1
		used.set(name, count)
		return wanted.filter((other) => other === name).length > 1 ? `${name}${count}` : name
	}
}

/** Longer lines are broken up. */
const MAX_WIDTH = 80
const INDENT = '  '

/** Prints a value that begins at `column` of its line. */
export function literal(value: unknown, column = 0): string {
	if (typeof value === 'number') return number(value)
	if (typeof value === 'string') return quoted(value)
	if (Array.isArray(value)) return list(value, column)
	if (Object(value) !== value) return String(value)
	const fields = entriesOf(value).map(([name, one]) => `${name}: ${literal(one, name.length)}`)
	return braces(fields, column)
}

/** Returns the defined properties of an object, with names as they are printed before a colon. */
function entriesOf(object: unknown): readonly (readonly [name: string, value: unknown])[] {
	return Object.entries(object as object)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => [keyOf(name), value])
}

/** Quotes a name that is not an identifier. `__proto__` needs brackets, or it would set the prototype. */
const keyOf = (name: string): string => {
	if (name === '__proto__') return "['__proto__']"
	return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

/** Prints an object on one line, or with one item per line if that is too long. */
function braces(items: readonly string[], column: number): string {
	if (items.length === 0) return '{}'
	const line = `{ ${items.join(', ')} }`
	return fits(line, column) ? line : `{\n${listed(items)}}`
}

/** Lists of numbers stay on one line, whatever their length. */
function list(values: readonly unknown[], column: number): string {
	const items = values.map((value) => literal(value))
	const line = `[${items.join(', ')}]`
	return fits(line, column) || values.every((value) => typeof value === 'number')
		? line
		: `[\n${listed(items)}]`
}

/** Includes the characters that may follow. */
const fits = (line: string, column: number): boolean =>
	column + line.length + '),'.length <= MAX_WIDTH && !line.includes('\n')

const listed = (items: readonly string[]): string => items.map((item) => `${indented(item)},\n`).join('')

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, INDENT)

function number(value: number): string {
	const text = String(value)
	const [, sign = '', whole = '', rest = ''] = /^(-?)(\d{4,})(\.\d+)?$/.exec(text) ?? []
	return whole === '' ? text : sign + groupDigits(whole, '_') + rest
}

/** Prints a string in single quotes, with JSON escapes. Line separators, which JSON does not escape, are escaped too: indentation would follow them. */
const quoted = (text: string): string =>
	`'${JSON.stringify(text)
		.slice(1, -1)
		.replaceAll('\\"', '"')
		.replaceAll("'", "\\'")
		.replaceAll('\u2028', '\\u2028')
		.replaceAll('\u2029', '\\u2029')}'`
