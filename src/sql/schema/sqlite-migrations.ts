/**
 * Migrations on SQLite. The version is stored in a table and not in `PRAGMA user_version`, which belongs to
 * the user of the database. SQLite's write lock serializes concurrent migrations: the second one finds
 * nothing to do.
 */
import type { SqliteConnection } from '../sqlite-connection.ts'
import {
	createdTables,
	type Migration,
	type MigrationReport,
	missingVersionError,
	neededVersion,
	type TableSet,
} from './migration.ts'

const createVersions = (table: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
	version INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	applied_at INTEGER NOT NULL
) STRICT`

const addVersion = (table: string, values: string): string =>
	`INSERT INTO ${table} (version, name, applied_at) VALUES (${values})`

/** Returns 0 if there are no tables. */
export const sqliteSchemaVersion = (connection: SqliteConnection, { versions }: TableSet): number =>
	hasTable(connection, versions) ? connection.number(`SELECT max(version) FROM ${versions}`) : 0

const hasTable = (connection: SqliteConnection, name: string): boolean =>
	connection.number('SELECT count(*) FROM sqlite_schema WHERE name = ?', name) > 0

/** Must run in a transaction that writes. */
export function migrateSqlite(connection: SqliteConnection, tables: TableSet): MigrationReport {
	const { versions } = tables
	const needed = neededVersion(tables)
	const from = sqliteSchemaVersion(connection, tables)
	if (from > needed) throw tables.versionError(from, needed)
	const steps = tables.steps.filter(({ version }) => version > from)
	const existing = from === 0 ? createdTables(tables).find((name) => hasTable(connection, name)) : undefined
	if (existing !== undefined) throw missingVersionError(tables, existing, '')
	if (steps.length > 0) connection.exec(createVersions(versions))
	for (const { version, name, sql } of steps) {
		connection.exec(sql)
		connection.run(addVersion(versions, '?, ?, ?'), version, name, connection.now())
	}
	return { from, to: needed, applied: steps.map(({ name }) => name) }
}

/** Returns the steps as a person can run them, in order. Each records its own version, so that `migrate` does not run it again. */
export const sqliteMigrations = ({ versions, steps }: TableSet): readonly Migration[] =>
	steps.map(({ version, name, sql }) => {
		const values = `${version}, '${name.replaceAll("'", "''")}', CAST(unixepoch('subsec') * 1000 AS INTEGER)`
		const before = version === 1 ? [`${createVersions(versions)};`] : []
		return { version, name, sql: [...before, sql.trim(), `${addVersion(versions, values)};`].join('\n') }
	})
