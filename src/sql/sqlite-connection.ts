/**
 * The single connection of a store, opened on first use: stores are created when a program starts, where
 * neither a missing folder nor the warning that `node:sqlite` prints on some versions is wanted.
 *
 * SQLite must never wait by itself: that blocks the thread, which may be the one that runs the transaction it
 * waits for. So `busy_timeout` is 0, and group-commit.ts retries when the database is busy.
 *
 * Rows are read as arrays: `node:sqlite` creates objects in V8's slow dictionary mode, which nearly doubled
 * the time of a claim.
 */
import type { SqliteDatabase, SqliteStatement } from './clients.ts'

export type SqlValue = string | number | null
export type SqlRow = readonly SqlValue[]
/** A parameter of a statement. */
export type SqlParam = SqlValue | Uint8Array

/**
 * A committed row survives a power failure: `synchronous = FULL`. `journal_size_limit` truncates the log
 * after a burst. Checkpoints run at 32 MB instead of 4: most rows of a queue are deleted by then, which
 * increased drain throughput by a quarter.
 */
const SETTINGS = `
	PRAGMA busy_timeout = 0;
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	PRAGMA temp_store = MEMORY;
	PRAGMA cache_size = -32000;
	PRAGMA wal_autocheckpoint = 8000;
	PRAGMA journal_size_limit = 67108864;
`

export class SqliteConnection {
	readonly #clock: () => number
	readonly #openDatabase: () => SqliteDatabase
	readonly #statements = new Map<string, SqliteStatement>()
	#database: SqliteDatabase | undefined
	#isClosed = false

	constructor(openDatabase: () => SqliteDatabase, clock: () => number) {
		this.#openDatabase = openDatabase
		this.#clock = clock
	}

	/** False before the first use and after closing. */
	get isOpen(): boolean {
		return this.#database !== undefined
	}

	get database(): SqliteDatabase {
		this.#database ??= this.#open()
		return this.#database
	}

	#open(): SqliteDatabase {
		if (this.#isClosed) throw new Error('The store is closed')
		const database = this.#openDatabase()
		try {
			database.exec(SETTINGS)
		} catch (error) {
			database.close()
			throw error
		}
		return database
	}

	/** True if a transaction is open on this connection; undefined on Node versions that do not expose it. */
	get isInTransaction(): boolean | undefined {
		return this.database.isTransaction
	}

	now(): number {
		return Math.floor(this.#clock())
	}

	exec(sql: string): void {
		this.database.exec(sql)
	}

	/** Returns the number of changed rows. */
	run(sql: string, ...params: SqlParam[]): number {
		return Number(this.#statement(sql).run(...params).changes)
	}

	rows(sql: string, ...params: SqlParam[]): readonly SqlRow[] {
		const found = this.#statement(sql).all(...params)
		// Node 22 before 22.16 returns objects only.
		return (Array.isArray(found[0]) ? found : found.map((row) => Object.values(Object(row)))) as SqlRow[]
	}

	row(sql: string, ...params: SqlParam[]): SqlRow | undefined {
		return this.rows(sql, ...params)[0]
	}

	/** Returns the first value of the first row, 0 if there is none. */
	number(sql: string, ...params: SqlParam[]): number {
		return Number(this.row(sql, ...params)?.[0] ?? 0)
	}

	/** Prepares each text once: preparing takes as long as running. */
	#statement(sql: string): SqliteStatement {
		const known = this.#statements.get(sql)
		if (known) return known
		const statement = this.database.prepare(sql)
		statement.setReturnArrays?.(true)
		this.#statements.set(sql, statement)
		return statement
	}

	close(): void {
		this.#isClosed = true
		this.#statements.clear()
		this.#database?.close()
		this.#database = undefined
	}
}
