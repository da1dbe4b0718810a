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
	const statements = preparedOn(tx)
	return (sql, ...params) => withPrepared(tx, statements, sql, (statement) => rowsOf(statement, params))
}

/** Runs a statement that returns no rows, and returns how many it has changed. */
export function countChanges(tx: SqliteClient, sql: string, ...params: SqlParam[]): number {
	const { changes } = withPrepared(tx, preparedOn(tx), sql, (statement) =>
		statement.reader === undefined ? statement.run(...params) : statement.run(numbered(params)),
	)
	return Number(changes)
}

function preparedOn(tx: SqliteClient): Map<string, Statement> {
	const known = preparedByClient.get(tx)
	if (known) return known
	const statements = new Map<string, Statement>()
	preparedByClient.set(tx, statements)
	return statements
}

function withPrepared<T>(
	tx: SqliteClient,
	statements: Map<string, Statement>,
	sql: string,
	use: (statement: Statement) => T,
): T {
	const prepare = (): Statement => {
		const statement = tx.prepare(sql) as Statement
		statements.set(sql, statement)
		return statement
	}
	try {
		return use(statements.get(sql) ?? prepare())
	} catch (error) {
		// Closing and reopening a connection invalidates its statements.
		if (Object(error).code !== 'ERR_INVALID_STATE') throw error
		return use(prepare())
	}
}

const NO_ROWS: readonly unknown[] = []

/**
 * `better-sqlite3`, which has `reader`, takes numbered parameters (?1) as an object. Its `all` throws for a
 * statement that returns no rows, and its `run` for one that does.
 */
function rowsOf(statement: Statement, params: readonly SqlParam[]): readonly unknown[] {
	if (statement.reader === undefined) return statement.all(...params)
	if (statement.reader) return statement.all(numbered(params))
	if (params.length > 0) statement.run(numbered(params))
	else statement.run()
	return NO_ROWS
}

const numbered = (params: readonly SqlParam[]): Record<string, SqlParam> =>
	Object.fromEntries(params.map((value, at) => [at + 1, value]))

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
