/**
 * The table of marks. Times are milliseconds since 1970. The collation "C" compares ids byte by byte, which is
 * what equality needs. `token` identifies the call that wrote a mark.
 */
import { isMissingTable, plainReadOnlyError, postgresHint } from '../../../../sql/postgres-errors.ts'
import type { SqlExecutor } from '../../../../sql/postgres-executor.ts'
import { neededVersion, type TableSet } from '../../../../sql/schema/migration.ts'
import { postgresVersionError } from '../../../../sql/schema/postgres-migrations.ts'
import { InboxSchemaError, InboxStoreError } from '../../errors.ts'

const TABLES = `
create table {s}.inbox (
	inbox text collate "C" not null,
	message_id text collate "C" not null,
	token bigint not null,
	processed_at bigint not null,
	expires_at bigint not null,
	primary key (inbox, message_id)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index inbox_expired on {s}.inbox (inbox, expires_at);
`

export const INBOX_TABLES: TableSet = {
	versions: 'inbox_schema',
	steps: [{ version: 1, name: 'marks', sql: TABLES }],
	versionError: (found, needed) => new InboxSchemaError(found, needed),
}

const withHint = (error: unknown): unknown => {
	const hint = postgresHint(error)
	return hint === undefined ? error : new InboxStoreError('use the database of the inbox', error, hint)
}

/** A missing table or column usually means tables of another version. */
export const explainError = async (error: unknown, executor: SqlExecutor): Promise<unknown> =>
	(await postgresVersionError(error, executor, INBOX_TABLES)) ?? withHint(error)

/** Does not look up the version: the user's transaction may hold the only connection, and rejects all queries after an error. */
export const explainInTransaction = (error: unknown): unknown =>
	isMissingTable(error)
		? new InboxSchemaError(0, neededVersion(INBOX_TABLES))
		: withHint(plainReadOnlyError(error, 'INSERT'))
