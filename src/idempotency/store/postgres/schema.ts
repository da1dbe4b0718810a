/**
 * The table of keys. Times are milliseconds since 1970.
 *
 * Prepared statements look keys up by the primary key, whatever the statistics say: a plan that was cached
 * while the table was empty would otherwise read a table of millions of rows as a whole. So the table always
 * has some pages, which makes reading it more expensive than an index lookup: the migration fills them once,
 * and `vacuum_truncate = off` keeps them. That also spares the exclusive lock with which vacuum truncates a
 * table. Settings in each statement, as the outbox has them, would double the time of a replay.
 */
import { postgresHint } from '../../../sql/postgres-errors.ts'
import type { SqlExecutor } from '../../../sql/postgres-executor.ts'
import type { TableSet } from '../../../sql/schema/migration.ts'
import { postgresVersionError } from '../../../sql/schema/postgres-migrations.ts'
import { IdempotencySchemaError, IdempotencyStoreError } from '../errors.ts'

/** `steps` is null without steps, so that the length of a row depends on its request only. */
const TABLES = `
create table {s}.idempotency_keys (
	id text primary key,
	fingerprint text not null,
	token text not null,
	state text not null,
	lease_until bigint not null,
	expires_at bigint not null,
	created_at bigint not null,
	completed_at bigint,
	status int,
	headers text,
	body bytea,
	steps text
) with (
	vacuum_truncate = off,
	autovacuum_vacuum_scale_factor = 0.05,
	autovacuum_vacuum_insert_scale_factor = 0.2
);
create index idempotency_keys_expired on {s}.idempotency_keys (expires_at);
insert into {s}.idempotency_keys (id, fingerprint, token, state, lease_until, expires_at, created_at, headers)
select 'page filler ' || i, '', '', '', 0, 0, 0, repeat('x', 1800) from generate_series(1, 100) i;
delete from {s}.idempotency_keys where id like 'page filler %';
`

export const IDEMPOTENCY_TABLES: TableSet = {
	versions: 'idempotency_schema',
	steps: [{ version: 1, name: 'keys', sql: TABLES }],
	versionError: (found, needed) => new IdempotencySchemaError(found, needed),
}

/** A missing table or column usually means tables of another version. */
export async function explainError(error: unknown, executor: SqlExecutor): Promise<unknown> {
	const versionError = await postgresVersionError(error, executor, IDEMPOTENCY_TABLES)
	if (versionError) return versionError
	const hint = postgresHint(error)
	return hint === undefined ? error : new IdempotencyStoreError(error, hint)
}
