/**
 * A `Database` of `better-sqlite3` as a store uses its own connection. A program that uses `better-sqlite3`
 * must not open the same file with `node:sqlite` too: the locks of a file belong to the process, so the two
 * copies of SQLite in it do not exclude each other.
 *
 * Differences to `node:sqlite`: `all` and `run` each throw for the other's statements, numbered parameters
 * (?1) are bound by an object, and rows become arrays with `raw`.
 */
import type { SqliteDatabase, SqliteStatement } from './clients.ts'

interface BetterSqliteStatement {
	readonly reader: boolean
	raw(enabled?: boolean): unknown
	all(...params: unknown[]): unknown[]
	run(...params: unknown[]): { readonly changes: number }
}

/** A `Database` of `better-sqlite3`. */
export interface BetterSqliteDatabase {
	readonly inTransaction: boolean
	prepare(sql: string): BetterSqliteStatement
	exec(sql: string): unknown
	close(): unknown
}

export const isBetterSqlite = (database: object): database is BetterSqliteDatabase =>
	typeof (database as Partial<BetterSqliteDatabase>).inTransaction === 'boolean'

export class AdaptedBetterSqlite implements SqliteDatabase {
	readonly #database: BetterSqliteDatabase

	constructor(database: BetterSqliteDatabase) {
		this.#database = database
	}

	get isTransaction(): boolean {
		return this.#database.inTransaction
	}

	prepare(sql: string): SqliteStatement {
		const statement = this.#database.prepare(sql)
		const bind = binderFor(sql)
		if (statement.reader) statement.raw(true)
		return {
			all(...params: unknown[]) {
				if (statement.reader) return statement.all(...bind(params))
				statement.run(...bind(params))
				return []
			},
			run: (...params: unknown[]) =>
				statement.reader
					? { changes: statement.all(...bind(params)).length }
					: statement.run(...bind(params)),
		}
	}

	exec(sql: string): void {
		this.#database.exec(sql)
	}

	close(): void {
		this.#database.close()
	}
}

/** Returns a function that turns values in the order of their numbers into an object for the numbered and values for the others. */
function binderFor(sql: string): (params: readonly unknown[]) => unknown[] {
	const numbers = new Set(Array.from(sql.matchAll(/\?(\d+)/g), ([, number]) => Number(number)))
	if (numbers.size === 0) return (params) => [...params]
	return (params) => {
		const numbered: Record<string, unknown> = {}
		const others: unknown[] = []
		for (const [at, value] of params.entries()) {
			if (numbers.has(at + 1)) numbered[at + 1] = value
			else others.push(value)
		}
		return [numbered, ...others]
	}
}
