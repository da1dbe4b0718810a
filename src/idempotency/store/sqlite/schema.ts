/**
 * The table of keys. Times are milliseconds since 1970, by the clock of the database: where the machine's
 * clock jumps forward, everything that was kept then is kept for as much longer, because no time has passed.
 */
import { type ClockTables, clockTable } from '../../../sql/clock/sqlite-clock.ts'
import type { TableSet } from '../../../sql/schema/migration.ts'
import { IdempotencySchemaError } from '../errors.ts'

const TABLES = `
CREATE TABLE yaoki_idempotency_keys (
	id TEXT PRIMARY KEY,
	fingerprint TEXT NOT NULL,
	token TEXT NOT NULL,
	state TEXT NOT NULL,
	lease_until INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	completed_at INTEGER,
	status INTEGER,
	headers TEXT,
	steps TEXT,
	body BLOB
) STRICT;
CREATE INDEX yaoki_idempotency_keys_expired ON yaoki_idempotency_keys (expires_at);

${clockTable('yaoki_idempotency_clock')}
`

export const IDEMPOTENCY_TABLES: TableSet = {
	versions: 'yaoki_idempotency_schema',
	steps: [{ version: 1, name: 'keys', sql: TABLES.trim() }],
	versionError: (found, needed) => new IdempotencySchemaError(found, needed),
}

export const IDEMPOTENCY_CLOCK: ClockTables = {
	table: 'yaoki_idempotency_clock',
	extend: [
		"UPDATE yaoki_idempotency_keys SET lease_until = lease_until + ?2 WHERE state = 'running' AND lease_until > ?1",
		'UPDATE yaoki_idempotency_keys SET expires_at = expires_at + ?2 WHERE expires_at > ?1',
	],
}
