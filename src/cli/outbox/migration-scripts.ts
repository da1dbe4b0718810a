/** The migrations as scripts that can be run by hand. */
import { migrationsIn } from '../../outbox/store/postgres/schema.ts'
import { OUTBOX_TABLES } from '../../outbox/store/sqlite/schema.ts'
import { readSchemaName } from '../../sql/postgres-options.ts'
import type { Migration } from '../../sql/schema/migration.ts'
import { sqliteMigrations } from '../../sql/schema/sqlite-migrations.ts'

export const migrationScripts = (
	dialect: 'postgres' | 'sqlite',
	schema: string | undefined,
): readonly Migration[] =>
	dialect === 'sqlite' ? sqliteMigrations(OUTBOX_TABLES) : migrationsIn(readSchemaName(schema))
