import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'

/** Options of `sqliteIdempotencyStore`. `file` is required. */
export interface SqliteIdempotencyStoreOptions<Database = SqliteTransaction> {
	/**
	 * The database file. A missing file is created, a missing folder is not. `':memory:'`: a database that exists until the store
	 * is closed.
	 */
	readonly file: string
	/**
	 * Opens the file: `(file) => new Database(file)` for `better-sqlite3`. Necessary if your program has the file open with it, because two copies of
	 * SQLite in one process do not see each other's locks. It is called a second time for transactions. Default: `node:sqlite`.
	 */
	readonly open?: ((file: string) => Database) | undefined
	/** For tests: replaces the database's clock, milliseconds since 1970. */
	readonly clock?: (() => number) | undefined
	/** The clock, and timers and randomness for pauses while the database is busy. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

type SqliteParameter = string | number | bigint | null | Uint8Array

/**
 * The connection that `context.transaction` of a `sqliteIdempotencyStore` passes to your function: `DatabaseSync` of `node:sqlite`, or a
 * `Database` of `better-sqlite3`.
 */
export interface SqliteTransaction {
	exec(sql: string): unknown
	prepare(sql: string): {
		run(...params: SqliteParameter[]): {
			readonly changes: number | bigint
			readonly lastInsertRowid: number | bigint
		}
		get(...params: SqliteParameter[]): unknown
		all(...params: SqliteParameter[]): unknown[]
	}
}

const OPTIONS: OptionSchema = { file: 'string', open: 'function', clock: 'function', runtime: 'any' }

export function readSqliteOptions<Database>(
	given: SqliteIdempotencyStoreOptions<Database> | string,
): SqliteIdempotencyStoreOptions<Database> {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, OPTIONS, 'sqliteIdempotencyStore')
	const settings = readOptions<SqliteIdempotencyStoreOptions<Database>>(options, OPTIONS)
	// SQLite treats an empty name as a private temporary file.
	if (!settings.file) invalidOption('file', settings.file, "a file name or ':memory:'")
	return settings
}
