/**
 * Brings the tables up to date. The write lock of SQLite is what keeps two from doing it at once: the second one waits for it, and finds
 * nothing left to do.
 */
import { SchemaVersionError } from '../errors.ts'
import type { MigrationReport } from '../store.ts'
import type { Connection } from './connection.ts'
import { MIGRATIONS, NEEDED_VERSION } from './migrations.ts'

const VERSIONS = `CREATE TABLE IF NOT EXISTS yaoki_outbox_schema (
	version INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	applied_at INTEGER NOT NULL
) STRICT`

const HAS_VERSIONS = `SELECT count(*) FROM sqlite_schema WHERE name = 'yaoki_outbox_schema'`
const LATEST_VERSION = 'SELECT max(version) FROM yaoki_outbox_schema'
const ADD_VERSION = 'INSERT INTO yaoki_outbox_schema (version, name, applied_at) VALUES (?, ?, ?)'

/** 0 when there are no tables. */
export const versionOf = (connection: Connection): number =>
	connection.number(HAS_VERSIONS) === 0 ? 0 : connection.number(LATEST_VERSION)

export function migrate(connection: Connection): MigrationReport {
	const from = versionOf(connection)
	if (from > NEEDED_VERSION) throw new SchemaVersionError(from, NEEDED_VERSION)
	const steps = MIGRATIONS.filter(({ version }) => version > from)
	if (steps.length > 0) connection.exec(VERSIONS)
	for (const { version, name, sql } of steps) {
		connection.exec(sql)
		connection.run(ADD_VERSION, version, name, connection.now())
	}
	return { from, to: NEEDED_VERSION, applied: steps.map(({ name }) => name) }
}
