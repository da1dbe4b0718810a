/** All migrations of the groups of tables, without a connection to a database. */
import { IDEMPOTENCY_TABLES as POSTGRES_TABLES } from '../../idempotency/store/postgres/schema.ts'
import { IDEMPOTENCY_TABLES as SQLITE_TABLES } from '../../idempotency/store/sqlite/schema.ts'
import { INBOX_TABLES as POSTGRES_INBOX } from '../../outbox/inbox/store/postgres/schema.ts'
import { INBOX_TABLES as SQLITE_INBOX } from '../../outbox/inbox/store/sqlite/schema.ts'
import { migrationsIn } from '../../outbox/store/postgres/schema.ts'
import { OUTBOX_TABLES } from '../../outbox/store/sqlite/schema.ts'
import { readSchemaName } from '../../sql/postgres-options.ts'
import type { Migration } from '../../sql/schema/migration.ts'
import { postgresMigrations } from '../../sql/schema/postgres-migrations.ts'
import { sqliteMigrations } from '../../sql/schema/sqlite-migrations.ts'

type List = (dialect: 'postgres' | 'sqlite', schema: string | undefined) => readonly Migration[]

export const outboxMigrations: List = (dialect, schema) =>
	dialect === 'sqlite' ? sqliteMigrations(OUTBOX_TABLES) : migrationsIn(readSchemaName(schema))

export const idempotencyMigrations: List = (dialect, schema) =>
	dialect === 'sqlite'
		? sqliteMigrations(SQLITE_TABLES)
		: postgresMigrations(POSTGRES_TABLES, readSchemaName(schema))

export const inboxMigrations: List = (dialect, schema) =>
	dialect === 'sqlite'
		? sqliteMigrations(SQLITE_INBOX)
		: postgresMigrations(POSTGRES_INBOX, readSchemaName(schema))
