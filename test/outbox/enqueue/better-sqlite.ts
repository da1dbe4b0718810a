/**
 * `better-sqlite3`, which needs a native build: the package itself where it is installed, and everywhere a class with its rules on
 * `node:sqlite`: `all` and `run` each throw for the other's statements, numbered parameters are bound by an object, `transaction` runs a
 * function that must not return a promise, and errors have names.
 */
import { createRequire } from 'node:module'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

type Value = string | number | null
type Parameters = (Value | Readonly<Record<string, Value>>)[]

interface BetterStatement {
	readonly reader: boolean
	raw(enabled?: boolean): unknown
	all(...params: Parameters): unknown[]
	run(...params: Parameters): { readonly changes: number }
}

export interface BetterDatabase {
	readonly inTransaction: boolean
	prepare(sql: string): BetterStatement
	exec(sql: string): unknown
	transaction<Args extends unknown[]>(work: (...args: Args) => unknown): BetterTransaction<Args>
	close(): unknown
}

interface BetterTransaction<Args extends unknown[]> {
	(...args: Args): unknown
	immediate(...args: Args): unknown
	deferred(...args: Args): unknown
}

export type OpenBetter = (file: string, options?: { readonly timeout?: number }) => BetterDatabase

const NAMES: Readonly<Record<number, string>> = { 5: 'SQLITE_BUSY', 517: 'SQLITE_BUSY_SNAPSHOT' }

function withName(error: unknown): unknown {
	const { errcode } = Object(error) as { readonly errcode?: number }
	if (errcode === undefined || !(error instanceof Error)) return error
	return Object.assign(new Error(error.message), { code: NAMES[errcode] ?? 'SQLITE_ERROR' })
}

function named<T>(work: () => T): T {
	try {
		return work()
	} catch (error) {
		throw withName(error)
	}
}

class RuleStatement implements BetterStatement {
	readonly reader: boolean
	readonly #statement: StatementSync

	constructor(statement: StatementSync) {
		this.#statement = statement
		this.reader = statement.columns().length > 0
	}

	/** Numbered parameters come from the object, the others from the values after it. */
	#inOrder(params: Parameters): Value[] {
		const numbers = new Set(Array.from(this.#statement.sourceSQL.matchAll(/\?(\d+)/g), ([, n]) => Number(n)))
		if (numbers.size === 0) return params as Value[]
		const [numbered, ...others] = params
		if (typeof numbered !== 'object' || numbered === null)
			throw new RangeError('Too many parameter values were provided')
		const count = Object.keys(numbered).length + others.length
		return Array.from({ length: count }, (_, at) =>
			numbers.has(at + 1) ? (numbered[at + 1] as Value) : (others.shift() as Value),
		)
	}

	all(...params: Parameters): unknown[] {
		if (!this.reader) throw new TypeError('This statement does not return data. Use run() instead')
		return named(() => this.#statement.all(...this.#inOrder(params)))
	}

	raw(enabled = true): this {
		this.#statement.setReturnArrays(enabled)
		return this
	}

	run(...params: Parameters): { readonly changes: number } {
		if (this.reader)
			throw new TypeError('This statement returns data. Use get(), all(), or iterate() instead')
		return { changes: Number(named(() => this.#statement.run(...this.#inOrder(params))).changes) }
	}
}

class RuleDatabase implements BetterDatabase {
	readonly #database: DatabaseSync

	constructor(database: DatabaseSync) {
		this.#database = database
	}

	get inTransaction(): boolean {
		return this.#database.isTransaction
	}

	prepare(sql: string): BetterStatement {
		return new RuleStatement(named(() => this.#database.prepare(sql)))
	}

	exec(sql: string): void {
		named(() => this.#database.exec(sql))
	}

	transaction<Args extends unknown[]>(work: (...args: Args) => unknown): BetterTransaction<Args> {
		const runAfter =
			(begin: string) =>
			(...args: Args) => {
				this.exec(begin)
				try {
					const result = work(...args)
					if (typeof Object(result).then === 'function')
						throw new TypeError('Transaction function cannot return a promise')
					this.exec('COMMIT')
					return result
				} catch (error) {
					if (this.inTransaction) this.exec('ROLLBACK')
					throw error
				}
			}
		return Object.assign(runAfter('BEGIN'), {
			immediate: runAfter('BEGIN IMMEDIATE'),
			deferred: runAfter('BEGIN'),
		})
	}

	close(): void {
		this.#database.close()
	}
}

/** Not a literal in the call, because the package is not a dependency. */
const PACKAGE = 'better-sqlite3'

/** Returns the drivers to test, by name. The package is resolved from `place`, the URL of a file. */
export function betterDrivers(place: string): readonly (readonly [name: string, open: OpenBetter])[] {
	const real = installed(place)
	return [
		[
			'the rules of better-sqlite3',
			(file, options = {}) => new RuleDatabase(new DatabaseSync(file, options)),
		],
		...(real === undefined ? [] : [[PACKAGE, real] as const]),
	]
}

function installed(place: string): OpenBetter | undefined {
	try {
		const Database = createRequire(place)(PACKAGE)
		// Throws if it is not compiled for this version of Node.
		new Database(':memory:').close()
		// Kept: Node 24 with vitest aborts when it collects databases and statements of better-sqlite3 12.
		const kept: unknown[] = []
		return (file, options) => {
			const database = new Database(file, options)
			const prepare = database.prepare.bind(database)
			database.prepare = (sql: string) => {
				const statement = prepare(sql)
				kept.push(statement)
				return statement
			}
			kept.push(database)
			return database
		}
	} catch {
		return undefined
	}
}

export const BETTER_DRIVERS: ReturnType<typeof betterDrivers> = betterDrivers(import.meta.url)
