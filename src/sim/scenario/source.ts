/**
 * Prints a policy given as data as the TypeScript that creates it, so that the result of `tune` or of the playground can be pasted
 * into a program. The output reads like hand-written code: budgets are constants, and defaults are left out. A function cannot be
 * printed; its name is, with a comment, so that the compiler reports it as missing.
 */
import { invalidOption } from '../../core/options/schema.ts'
import { BUDGET_FACTORIES, type BudgetModel } from './budgets.ts'
import { LAYER_KINDS, type LayerKind, type PolicyLayer } from './layers.ts'
import { braces, entriesOf, listed, literal } from './literal.ts'

const SHARED = '// Shared by all callers of this service: import it, do not create another one.'

/**
 * Returns the TypeScript that creates this policy, outermost layer first. It exports `policy` and everything that is `shared`.
 *
 * @example
 * policyToTypeScript([{ retry: { maxRetries: 3, budget: { maxRetryRatio: 0.1 } } }, { timeout: 1_000 }])
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
	const program = new Program(layers)
	const calls = layers.map((layer, index) => program.layer(layer, index))
	const policy = calls.length === 0 ? 'pipeline()' : `pipeline(\n${listed(calls)})`
	const parts = [program.imports, ...program.notes, ...program.constants, `export const policy = ${policy}`]
	return `${parts.join('\n\n')}\n`
}

class Program {
	/** Statements before the policy. */
	readonly constants: string[] = []
	readonly #factories = new Set(['pipeline'])
	readonly #functions = new Set<string>()
	readonly #nameOf: (wanted: string) => string

	constructor(layers: readonly PolicyLayer[]) {
		const names = layers.flatMap((layer, index) => {
			const { kind, options } = readLayer(layer, index)
			return [...(layer.shared ? [sharedName(kind)] : []), ...(hasBudget(options) ? ['budget'] : [])]
		})
		this.#nameOf = numbered(names)
	}

	/** The import of all factories used so far. */
	get imports(): string {
		const from = " from 'yaoki'"
		return `import ${braces([...this.#factories].sort(), 'import '.length + from.length)}${from}`
	}

	get notes(): readonly string[] {
		const names = [...this.#functions]
		if (names.length === 0) return []
		const are = names.length === 1 ? 'is a function' : 'are functions'
		return [`// ${names.join(', ')} ${are} of your own and must be in scope here.`]
	}

	/** Returns the call that creates a layer, or the name of its constant. */
	layer(layer: PolicyLayer, index: number): string {
		const { kind, options } = readLayer(layer, index)
		if (!layer.shared) return this.#call(kind, options, 2)
		return this.#constant(sharedName(kind), true, (column) => this.#call(kind, options, column))
	}

	/** `column` is the column where the call begins. */
	#call(factory: string, options: unknown, column: number): string {
		this.#factories.add(factory)
		if (Object(options) !== options) return `${factory}(${literal(options)})`
		const written = entriesOf(options).map(([name, value]) => this.#option(name, value))
		return `${factory}(${written.length === 0 ? '' : braces(written, column + factory.length)})`
	}

	#option(name: string, value: unknown): string {
		const written = isBudget(name, value) ? this.#budget(value) : this.#value(name, value)
		return written === name ? name : `${name}: ${written}`
	}

	#value(name: string, value: unknown): string {
		if (typeof value !== 'function') return literal(value, name.length)
		this.#functions.add(name)
		return name
	}

	#budget(model: BudgetModel): string {
		const { kind = 'ratio', shared = false, ...options } = model
		if (!Object.hasOwn(BUDGET_FACTORIES, kind))
			invalidOption('budget.kind', kind, "'ratio', 'tokens' or 'quota'")
		return this.#constant('budget', shared, (column) => this.#call(BUDGET_FACTORIES[kind], options, column))
	}

	/** Declares a constant and returns its name. */
	#constant(wanted: string, isShared: boolean, valueAt: (column: number) => string): string {
		const name = this.#nameOf(wanted)
		const start = `${isShared ? 'export ' : ''}const ${name} = `
		this.constants.push(`${isShared ? `${SHARED}\n` : ''}${start}${valueAt(start.length)}`)
		return name
	}
}

function readLayer(layer: PolicyLayer, index: number): { kind: LayerKind; options: unknown } {
	const kind = LAYER_KINDS.find((name) => Object(layer) === layer && Object.hasOwn(layer, name))
	if (kind === undefined)
		invalidOption(`layers[${index}]`, layer, `an object with one of ${LAYER_KINDS.join(', ')}`)
	return { kind, options: (layer as Readonly<Record<string, unknown>>)[kind] }
}

const isBudget = (name: string, value: unknown): value is BudgetModel =>
	name === 'budget' && Object(value) === value

const hasBudget = (options: unknown): boolean =>
	Object(options) === options && entriesOf(options).some(([name, value]) => isBudget(name, value))

const sharedName = (kind: LayerKind): string => `shared${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

/** Numbers names that are used more than once. */
function numbered(wanted: readonly string[]): (name: string) => string {
	const used = new Map<string, number>()
	return (name) => {
		const count = (used.get(name) ?? 0) + 1
		used.set(name, count)
		return wanted.filter((other) => other === name).length > 1 ? `${name}${count}` : name
	}
}
