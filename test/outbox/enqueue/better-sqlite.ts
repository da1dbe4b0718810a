/**
 * `better-sqlite3`, which needs a native build: the package itself where it is installed, and everywhere a class with its rules on
 * `node:sqlite`: `all` and `run` each throw for the other's statements, numbered parameters are bound by an object, `transaction` runs a
 * function that must not return a promise, and errors have names.
 */
import { createRequire } from 'node:module'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

type Value = string | number | null
type Parameters = (Value | Readonly<Record<string, Value>>)[]

export interface BetterStatement {
	readonly reader: boolean
	all(...params: Parameters): unknown[]
	run(...params: Parameters): { readonly changes: number | bigint }
}

export interface BetterDatabase {
	readonly inTransaction: boolean
	prepare(sql: string): BetterStatement
	exec(sql: string): unknown
	transaction(work: () => unknown): (() => unknown) & { immediate(): unknown }
	close(): unknown
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

	#inOrder(params: Parameters): Value[] {
		const count = this.#statement.sourceSQL.match(/\?\d+/g)?.length ?? 0
		if (count === 0) return params as Value[]
		const [numbered, ...more] = params
		if (typeof numbered !== 'object' || numbered === null || more.length > 0)
			throw new RangeError('Too many parameter values were provided')
		return Object.values(numbered)
	}

	all(...params: Parameters): unknown[] {
		if (!this.reader) throw new TypeError('This statement does not return data. Use run() instead')
		return named(() => this.#statement.all(...this.#inOrder(params)))
	}

	run(...params: Parameters): { readonly changes: number | bigint } {
		if (this.reader)
			throw new TypeError('This statement returns data. Use get(), all(), or iterate() instead')
		return named(() => this.#statement.run(...this.#inOrder(params)))
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

	transaction(work: () => unknown): (() => unknown) & { immediate(): unknown } {
		const runAfter = (begin: string) => () => {
			this.exec(begin)
			try {
				const result = work()
				if (typeof Object(result).then === 'function')
					throw new TypeError('Transaction function cannot return a promise')
				this.exec('COMMIT')
				return result
			} catch (error) {
				if (this.inTransaction) this.exec('ROLLBACK')
				throw error
			}
		}
		return Object.assign(runAfter('BEGIN'), { immediate: runAfter('BEGIN IMMEDIATE') })
	}

	close(): void {
		this.#database.close()
	}
}

/** Not a literal in the call, because the package is not a dependency. */
const PACKAGE = 'better-sqlite3'

function installed(): OpenBetter | undefined {
	try {
		const Database = createRequire(import.meta.url)(PACKAGE)
		return (file, options) => new Database(file, options)
	} catch {
		return undefined
	}
}

const real = installed()

/** The drivers to test, by name. */
export const BETTER_DRIVERS: readonly (readonly [name: string, open: OpenBetter])[] = [
	['the rules of better-sqlite3', (file, options) => new RuleDatabase(new DatabaseSync(file, options))],
	...(real === undefined ? [] : [[PACKAGE, real] as const]),
]
