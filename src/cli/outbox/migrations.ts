/**
 * The migrations as a script that can be run by hand. Each ends by writing down its own version, as `migrate` description: who ran it by hand
 * is not told to run it again. PostgreSQL's do so themselves.
 */
import { readPostgresOptions } from '../../outbox/store/postgres/options.ts'
import { migrationsIn } from '../../outbox/store/postgres/schema.ts'
import { MIGRATIONS } from '../../outbox/store/sqlite/migrations.ts'
import type { Migration } from '../../outbox/store/store.ts'

export function migrationsOf(
	dialect: 'postgres' | 'sqlite',
	schema: string | undefined,
): readonly Migration[] {
	if (dialect === 'sqlite') return MIGRATIONS.map(recorded)
	return migrationsIn(readPostgresOptions({ client: NOBODY, schema }).schema)
}

/** A schema's name is checked with the store's other options, of which one must be a client. */
const NOBODY = {
	query: () => Promise.reject(new Error('there is no database')),
	connect: () => Promise.reject(new Error('there is no database')),
	on: () => {},
	removeListener: () => {},
}

const VERSIONS = `CREATE TABLE IF NOT EXISTS yaoki_outbox_schema (
	version INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	applied_at INTEGER NOT NULL
) STRICT;`

function recorded({ version, name, sql }: Migration): Migration {
	const record =
		'INSERT INTO yaoki_outbox_schema (version, name, applied_at) ' +
		`VALUES (${version}, '${name.replaceAll("'", "''")}', CAST(unixepoch('subsec') * 1000 AS INTEGER));`
	return { version, name, sql: [...(version === 1 ? [VERSIONS] : []), sql.trim(), record].join('\n') }
}
