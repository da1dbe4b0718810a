/**
 * The one connection of a store, opened when it is first needed: an outbox is made at the top of a program, and neither a missing
 * folder nor the warning that `node:sqlite` prints on some versions is wanted there. The module is asked for by
 * `process.getBuiltinModule`, so that users of PostgreSQL never load it.
 *
 * SQLite must never wait by itself: it blocks the thread, and in this very thread may run the transaction that it waits for. So
 * `busy_timeout` is 0, and who finds the database busy comes back later (group-commit.ts).
 *
 * Rows are read as arrays: `node:sqlite` makes objects in the slow mode of V8, and a claim of them took nearly twice as long.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { StoreError } from '../errors.ts'

export type SqlValue = string | number | null
export type SqlRow = readonly SqlValue[]

/** By the database's clock, in milliseconds. `Date.now` would be the same clock, but users' fake timers stop that one. */
export const DATABASE_NOW = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"

/** The last moment that a JavaScript Date knows. */
const LAST_MOMENT = 8.64e15

/** So long after, in whole milliseconds: the columns take nothing else. */
export const after = (now: number, ms: number): number => Math.min(LAST_MOMENT, now + Math.ceil(ms))

const READ_CLOCK = `SELECT ${DATABASE_NOW}`

/**
 * What a commit has told must be there after a power cut: `synchronous = FULL`, and the log is cut when a burst has made it long. It is
 * carried over into the file at 32 MB and not at 4: most rows of a queue are gone by then, which drained a quarter more in a second.
 */
const SETTINGS = `
	PRAGMA busy_timeout = 0;
	PRAGMA journal_mode = WAL;
	PRAGMA synchronous = FULL;
	PRAGMA temp_store = MEMORY;
	PRAGMA cache_size = -16000;
	PRAGMA wal_autocheckpoint = 8000;
	PRAGMA journal_size_limit = 67108864;
`

export class Connection {
	readonly file: string
	readonly clock: (() => number) | undefined
	readonly #statements = new Map<string, StatementSync>()
	#database: DatabaseSync | undefined
	#isClosed = false

	constructor(file: string, clock: (() => number) | undefined) {
		this.file = file
		this.clock = clock
	}

	/** Can nobody else see this database? */
	get isPrivate(): boolean {
		return this.file === ':memory:'
	}

	get database(): DatabaseSync {
		this.#database ??= this.#open()
		return this.#database
	}

	#open(): DatabaseSync {
		if (this.#isClosed) throw new StoreError('opening the database', 'the store was closed')
		const { DatabaseSync } = sqliteModule()
		const database = new DatabaseSync(this.file)
		try {
			database.exec(SETTINGS)
		} catch (error) {
			database.close()
			throw error
		}
		return database
	}

	/** Has somebody left a transaction open on it? Undefined where Node can not tell. */
	get isInTransaction(): boolean | undefined {
		return (this.database as { isTransaction?: boolean }).isTransaction
	}

	now(): number {
		return this.clock ? Math.floor(this.clock()) : this.number(READ_CLOCK)
	}

	exec(sql: string): void {
		this.database.exec(sql)
	}

	/** How many rows it changed. */
	run(sql: string, ...params: SqlValue[]): number {
		return Number(this.#statement(sql).run(...params).changes)
	}

	rows(sql: string, ...params: SqlValue[]): readonly SqlRow[] {
		const found = this.#statement(sql).all(...params) as unknown[]
		// Node 22 before 22.16 knows no arrays.
		return (Array.isArray(found[0]) ? found : found.map((row) => Object.values(Object(row)))) as SqlRow[]
	}

	row(sql: string, ...params: SqlValue[]): SqlRow | undefined {
		return this.rows(sql, ...params)[0]
	}

	/** The only value of the only row; 0 when there is none. */
	number(sql: string, ...params: SqlValue[]): number {
		return Number(this.row(sql, ...params)?.[0] ?? 0)
	}

	/** Preparing takes as long as running: every text is prepared once. */
	#statement(sql: string): StatementSync {
		const known = this.#statements.get(sql)
		if (known) return known
		const statement = this.database.prepare(sql)
		;(statement as Partial<StatementSync>).setReturnArrays?.(true)
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

function sqliteModule(): typeof import('node:sqlite') {
	const found = process.getBuiltinModule?.('node:sqlite')
	if (found) return found
	const hint = 'use Node 22.13 or later (22.5 with --experimental-sqlite), or the PostgreSQL store'
	throw new StoreError('opening the database', 'this runtime has no node:sqlite', hint)
}
