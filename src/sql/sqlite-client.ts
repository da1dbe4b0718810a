/** Runs statements on an SQLite connection of the user, in the user's open transaction: synchronously, so a commit right after it includes them. */
import type { SqliteClient, SqliteStatement } from './clients.ts'
import type { SqlParam } from './sqlite-connection.ts'
import { isStaleSnapshot } from './sqlite-errors.ts'

/** Runs a statement on the store's own connection or on the user's. */
export type RunStatement = (sql: string, ...params: SqlParam[]) => readonly unknown[]

/** Every driver binds bytes too; the type for users asks for as little as possible. */
type Statement = SqliteStatement & Pick<ReturnType<SqliteClient['prepare']>, 'reader'>

const preparedByClient = new WeakMap<SqliteClient, Map<string, Statement>>()

/** Prepares each text once per client. */
export function runOn(tx: SqliteClient): RunStatement {
	const statements = preparedByClient.get(tx) ?? new Map<string, Statement>()
	preparedByClient.set(tx, statements)
	const prepared = (sql: string): Statement => {
		const known = statements.get(sql) ?? (tx.prepare(sql) as Statement)
		statements.set(sql, known)
		return known
	}
	return (sql, ...params) => {
		try {
			return rowsOf(prepared(sql), params)
		} catch (error) {
			// Closing and reopening a connection invalidates its statements.
			if (Object(error).code !== 'ERR_INVALID_STATE') throw error
			statements.delete(sql)
			return rowsOf(prepared(sql), params)
		}
	}
}

const NO_ROWS: readonly unknown[] = []

/**
 * `better-sqlite3`, which has `reader`, takes numbered parameters (?1) as an object. Its `all` throws for a
 * statement that returns no rows, and its `run` for one that does.
 */
function rowsOf(statement: Statement, params: readonly SqlParam[]): readonly unknown[] {
	if (statement.reader === undefined) return statement.all(...params)
	const numbered = Object.fromEntries(params.map((value, at) => [at + 1, value]))
	if (statement.reader) return statement.all(numbered)
	if (params.length > 0) statement.run(numbered)
	else statement.run()
	return NO_ROWS
}

/** Returns whether a transaction is open, for clients that do not expose it, such as `node:sqlite` before Node 22.16. A plain BEGIN takes no lock, and fails only in a transaction. */
export function isOpen(run: RunStatement): boolean {
	try {
		run('BEGIN')
	} catch {
		return true
	}
	run('ROLLBACK')
	return false
}

const BEGIN_IMMEDIATE =
	"Another connection, such as a relay or a heartbeat, is writing. Open your connection with new DatabaseSync(file, { timeout: 5_000 }) and start with 'BEGIN IMMEDIATE' (better-sqlite3: db.transaction(fn).immediate()), so that it waits."
const STALE_SNAPSHOT =
	"Your transaction read before another connection wrote, so it can no longer write. Roll it back and start with 'BEGIN IMMEDIATE' (better-sqlite3: db.transaction(fn).immediate()) and { timeout: 5_000 } on your connection."

/** What to do if another connection has locked the database: the user's did not wait, and a store cannot wait in its place. */
export const userBusyHint = (error: unknown): string =>
	isStaleSnapshot(error) ? STALE_SNAPSHOT : BEGIN_IMMEDIATE
