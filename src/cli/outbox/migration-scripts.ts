/**
 * The migrations as scripts that can be run by hand. Each script records its own version, as `migrate` does, so that `migrate`
 * does not run it again. The PostgreSQL migrations contain that already.
 */
import { readPostgresOptions } from '../../outbox/store/postgres/options.ts'
import { migrationsIn } from '../../outbox/store/postgres/schema.ts'
import { MIGRATIONS } from '../../outbox/store/sqlite/schema.ts'
import type { Migration } from '../../outbox/store/store.ts'

export function migrationScripts(
	dialect: 'postgres' | 'sqlite',
	schema: string | undefined,
): readonly Migration[] {
	if (dialect === 'sqlite') return MIGRATIONS.map(withVersionRecord)
	return migrationsIn(readPostgresOptions({ client: NO_CLIENT, schema }).schema)
}

/** The schema name is validated together with the other store options, which require a client. */
const NO_CLIENT = {
	query: () => Promise.reject(new Error('no database')),
	connect: () => Promise.reject(new Error('no database')),
	on: () => {},
	removeListener: () => {},
}

const VERSION_TABLE = `CREATE TABLE IF NOT EXISTS yaoki_outbox_schema (
	version INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	applied_at INTEGER NOT NULL
) STRICT;`

function withVersionRecord({ version, name, sql }: Migration): Migration {
	const record =
		'INSERT INTO yaoki_outbox_schema (version, name, applied_at) ' +
		`VALUES (${version}, '${name.replaceAll("'", "''")}', CAST(unixepoch('subsec') * 1000 AS INTEGER));`
	return { version, name, sql: [...(version === 1 ? [VERSION_TABLE] : []), sql.trim(), record].join('\n') }
}
