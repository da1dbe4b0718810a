/**
 * The table of marks. Times are milliseconds since 1970, by the clock of the database: where the machine's clock
 * jumps forward, marks are kept for as much longer, because the sender's schedule has not advanced.
 */
import { type ClockTables, clockTable } from '../../../../sql/clock/sqlite-clock.ts'
import type { TableSet } from '../../../../sql/schema/migration.ts'
import { InboxSchemaError } from '../../errors.ts'

const TABLES = `
CREATE TABLE yaoki_inbox (
	inbox TEXT NOT NULL,
	message_id TEXT NOT NULL,
	token INTEGER NOT NULL,
	processed_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (inbox, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX yaoki_inbox_expired ON yaoki_inbox (inbox, expires_at);

${clockTable('yaoki_inbox_clock')}
`

export const INBOX_TABLES: TableSet = {
	versions: 'yaoki_inbox_schema',
	steps: [{ version: 1, name: 'marks', sql: TABLES.trim() }],
	versionError: (found, needed) => new InboxSchemaError(found, needed),
}

export const INBOX_CLOCK: ClockTables = {
	table: 'yaoki_inbox_clock',
	extend: ['UPDATE yaoki_inbox SET expires_at = expires_at + ?2 WHERE expires_at > ?1'],
}
