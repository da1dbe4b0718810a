/**
 * Warns if a program has a file open with both drivers. The locks of a file belong to the process, so two
 * copies of SQLite in it do not exclude each other.
 */
import { isBetterSqlite } from './better-sqlite.ts'
import type { SqliteClient } from './clients.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

/** Returns a function that checks a connection of the user, and warns once. `subject` is a word such as `outbox`. */
export function twoCopiesCheck(
	own: SqliteConnection,
	subject: 'outbox' | 'inbox',
	open: unknown,
): (tx: SqliteClient) => void {
	let hasWarned = open !== undefined
	return (tx) => {
		if (hasWarned || !own.isOpen || !isBetterSqlite(tx)) return
		hasWarned = true
		const factory = subject === 'outbox' ? 'sqliteOutboxStore' : 'sqliteInboxStore'
		console.warn(
			`yaoki: tx is a connection of better-sqlite3, and the ${subject} has the file open with node:sqlite. Two copies of SQLite in one process do not see each other's locks and can damage the file. Create the store with ${factory}({ file, open: (file) => new Database(file) }). This warning is printed once.`,
		)
	}
}
