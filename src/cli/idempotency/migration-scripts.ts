/** The migrations as scripts that can be run by hand. */
import { IDEMPOTENCY_TABLES as POSTGRES_TABLES } from '../../idempotency/store/postgres/schema.ts'
import { IDEMPOTENCY_TABLES as SQLITE_TABLES } from '../../idempotency/store/sqlite/schema.ts'
import { readSchemaName } from '../../sql/postgres-options.ts'
import type { Migration } from '../../sql/schema/migration.ts'
import { postgresMigrations } from '../../sql/schema/postgres-migrations.ts'
import { sqliteMigrations } from '../../sql/schema/sqlite-migrations.ts'

export const migrationScripts = (
	dialect: 'postgres' | 'sqlite',
	schema: string | undefined,
): readonly Migration[] =>
	dialect === 'sqlite'
		? sqliteMigrations(SQLITE_TABLES)
		: postgresMigrations(POSTGRES_TABLES, readSchemaName(schema))
