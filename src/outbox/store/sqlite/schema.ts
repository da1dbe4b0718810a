/**
 * The tables and their migration. A released step never changes; a change adds a step. Step 1 is not released.
 *
 * One small hot table, from which a sent message is deleted; dead letters and history are in their own
 * tables, so that neither slows down claims. Times are milliseconds since 1970. `seq` is the enqueue order
 * and stays with a message in every table (AUTOINCREMENT never reuses a number, so a replayed message finds
 * its position free). It is the rowid, which SQLite appends to every index, so indexes need not name it to be
 * in that order. No index contains a column that a claim changes, so a claim updates only the table.
 * `first_due_after_ms` is how long after its creation a message was first due, set by its first failure; only
 * failed messages are in the index of ages.
 *
 * `yaoki_webhook_subscriptions` has the topics of enabled endpoints, in a form in which an event finds its
 * endpoints.
 */
import { type ClockTables, clockTable } from '../../../sql/clock/sqlite-clock.ts'
import {
	type Migration,
	type MigrationReport,
	neededVersion,
	type TableSet,
} from '../../../sql/schema/migration.ts'
import { migrateSqlite, sqliteSchemaVersion } from '../../../sql/schema/sqlite-migrations.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { OutboxSchemaError } from '../errors.ts'

/** Columns that move with a message between tables. */
export const MOVED_COLUMNS =
	'seq, id, destination, topic, key, due_at, created_at, expires_at, attempts, max_retries, delay_ms, crashes, dedupe_key, payload, headers'

/** These columns, and the latest error. */
export const HISTORY_COLUMNS: string = `${MOVED_COLUMNS}, error_type, error_message, error_fingerprint`

const MESSAGE = `
	destination TEXT NOT NULL,
	topic TEXT NOT NULL,
	key TEXT,
	due_at INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER,
	attempts INTEGER NOT NULL DEFAULT 0,
	max_retries INTEGER,
	delay_ms REAL,
	crashes INTEGER NOT NULL DEFAULT 0,`

const LATEST_FAILURE = `
	last_attempt_at INTEGER,
	error_type TEXT,
	error_message TEXT,
	error_fingerprint TEXT,
	dedupe_key TEXT,`

const CONTENT = `
	payload TEXT NOT NULL,
	headers TEXT`

/** Whole seconds in the form of `CURRENT_TIMESTAMP`: times of other precision or form compare with it as text, and wrongly. */
const time = (column: string): string => `datetime(${column} / 1000, 'unixepoch')`

interface ViewPart {
	readonly table: string
	readonly status: string
	readonly nextRetryAt?: string
	readonly lastAttemptAt?: string
	readonly lockedAt?: string
	readonly lockedBy?: string
	readonly endedAt?: string
	readonly cause?: string
}

/** The columns of PostgreSQL's view, in its order. */
const viewOf = (part: ViewPart): string => `
	SELECT id, topic, destination, key, payload, headers, ${part.status} AS status, attempts,
		${part.nextRetryAt ?? 'NULL'} AS next_retry_at, ${time(part.lastAttemptAt ?? 'last_attempt_at')} AS last_attempt_at,
		error_type || ': ' || error_message AS last_error, ${part.lockedAt ?? 'NULL'} AS locked_at,
		${part.lockedBy ?? 'NULL'} AS locked_by, ${time('created_at')} AS created_at, ${time('expires_at')} AS expires_at,
		${part.endedAt ?? 'NULL'} AS ended_at, ${part.cause ?? 'NULL'} AS cause
	FROM ${part.table}`

const NOW = "unixepoch('subsec') * 1000"

const TABLES = `
CREATE TABLE yaoki_outbox (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,${MESSAGE}
	first_due_after_ms INTEGER,
	locked_by TEXT,
	locked_at INTEGER,
	lease_until INTEGER,
	in_order INTEGER NOT NULL DEFAULT 1,${LATEST_FAILURE}${CONTENT}
) STRICT;
CREATE INDEX yaoki_outbox_due ON yaoki_outbox (destination, due_at);
CREATE INDEX yaoki_outbox_key ON yaoki_outbox (destination, key) WHERE key IS NOT NULL;
CREATE INDEX yaoki_outbox_replayed ON yaoki_outbox (destination, key) WHERE in_order = 0 AND key IS NOT NULL;
CREATE INDEX yaoki_outbox_crashed ON yaoki_outbox (destination, due_at) WHERE crashes > 0;
CREATE INDEX yaoki_outbox_retried ON yaoki_outbox (destination, created_at + first_due_after_ms) WHERE first_due_after_ms IS NOT NULL;

CREATE TABLE yaoki_outbox_dead (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,${MESSAGE}${LATEST_FAILURE}
	died_at INTEGER NOT NULL,
	cause TEXT NOT NULL,
	blocks INTEGER NOT NULL DEFAULT 0,${CONTENT}
) STRICT;
CREATE INDEX yaoki_outbox_dead_destination ON yaoki_outbox_dead (destination);
CREATE INDEX yaoki_outbox_dead_blocking ON yaoki_outbox_dead (destination, key) WHERE blocks = 1;
CREATE INDEX yaoki_outbox_dead_cause ON yaoki_outbox_dead (cause);
CREATE INDEX yaoki_outbox_dead_key ON yaoki_outbox_dead (key) WHERE key IS NOT NULL;
CREATE INDEX yaoki_outbox_dead_group ON yaoki_outbox_dead (error_fingerprint, cause);

CREATE TABLE yaoki_outbox_history (
	seq INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,${MESSAGE}${LATEST_FAILURE}
	ended_at INTEGER NOT NULL,
	cause TEXT,${CONTENT}
) STRICT;
CREATE INDEX yaoki_outbox_history_ended ON yaoki_outbox_history (ended_at);
CREATE INDEX yaoki_outbox_history_destination ON yaoki_outbox_history (destination);
CREATE INDEX yaoki_outbox_history_key ON yaoki_outbox_history (key) WHERE key IS NOT NULL;

CREATE TABLE yaoki_outbox_dedupe (
	dedupe_key TEXT PRIMARY KEY,
	id TEXT NOT NULL,
	expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX yaoki_outbox_dedupe_expired ON yaoki_outbox_dedupe (expires_at);

CREATE TABLE yaoki_outbox_destinations (
	destination TEXT PRIMARY KEY,
	version INTEGER NOT NULL DEFAULT 0,
	state TEXT NOT NULL DEFAULT 'closed',
	paused_until INTEGER,
	reason TEXT,
	failed_probes INTEGER NOT NULL DEFAULT 0,
	delay_ms REAL NOT NULL DEFAULT 0,
	closed_at INTEGER,
	operator_until INTEGER,
	operator_at INTEGER,
	operator_by TEXT,
	operator_reason TEXT,
	bucket_parts INTEGER,
	bucket_interval INTEGER,
	bucket_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX yaoki_outbox_destinations_operator ON yaoki_outbox_destinations (operator_until) WHERE operator_until IS NOT NULL;

CREATE TABLE yaoki_outbox_audit (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	done_at INTEGER NOT NULL,
	done_by TEXT NOT NULL,
	reason TEXT,
	action TEXT NOT NULL,
	destination TEXT NOT NULL,
	message_id TEXT,
	topic TEXT,
	key TEXT,
	cause TEXT,
	payload TEXT,
	headers TEXT,
	changes TEXT
) STRICT;
CREATE INDEX yaoki_outbox_audit_done ON yaoki_outbox_audit (done_at);
CREATE INDEX yaoki_outbox_audit_message ON yaoki_outbox_audit (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE yaoki_outbox_attempts (
	message_id TEXT NOT NULL,
	started_at INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	relay TEXT NOT NULL,
	destination TEXT NOT NULL,
	duration_ms INTEGER NOT NULL,
	outcome TEXT NOT NULL,
	status_code INTEGER,
	error_type TEXT,
	error_message TEXT,
	response TEXT,
	expires_at INTEGER NOT NULL,
	PRIMARY KEY (message_id, started_at, attempt, relay)
) STRICT;
CREATE INDEX yaoki_outbox_attempts_expires ON yaoki_outbox_attempts (expires_at);

CREATE TABLE yaoki_outbox_permits (
	destination TEXT NOT NULL,
	owner TEXT NOT NULL,
	wanted INTEGER NOT NULL,
	permits INTEGER NOT NULL,
	until INTEGER NOT NULL,
	PRIMARY KEY (destination, owner)
) STRICT, WITHOUT ROWID;

CREATE TABLE yaoki_outbox_relays (
	id TEXT PRIMARY KEY,
	started_at INTEGER NOT NULL,
	seen_at INTEGER NOT NULL,
	report TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE yaoki_webhook_endpoints (
	id TEXT PRIMARY KEY,
	tenant TEXT NOT NULL,
	url TEXT NOT NULL,
	topics TEXT NOT NULL,
	description TEXT,
	secrets TEXT NOT NULL,
	version INTEGER NOT NULL,
	disabled_reason TEXT,
	disabled_at INTEGER,
	failing_since INTEGER,
	failures INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX yaoki_webhook_endpoints_tenant ON yaoki_webhook_endpoints (tenant);

CREATE TABLE yaoki_webhook_subscriptions (
	tenant TEXT NOT NULL,
	topic TEXT NOT NULL,
	endpoint_id TEXT NOT NULL,
	PRIMARY KEY (tenant, topic, endpoint_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE yaoki_webhook_events (
	id TEXT NOT NULL UNIQUE,
	tenant TEXT NOT NULL,
	topic TEXT NOT NULL,
	key TEXT,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	payload TEXT NOT NULL,
	headers TEXT
) STRICT;
CREATE INDEX yaoki_webhook_events_tenant ON yaoki_webhook_events (tenant, created_at, id);
CREATE INDEX yaoki_webhook_events_expires ON yaoki_webhook_events (expires_at);

${clockTable('yaoki_outbox_clock')}

CREATE VIEW yaoki_outbox_messages AS${viewOf({
	table: 'yaoki_outbox',
	status: `CASE WHEN lease_until > max(${NOW}, (SELECT time FROM yaoki_outbox_clock)) THEN 'processing' ELSE 'pending' END`,
	nextRetryAt: time('due_at'),
	lastAttemptAt: 'coalesce(locked_at, last_attempt_at)',
	lockedAt: time('locked_at'),
	lockedBy: 'locked_by',
})}
UNION ALL${viewOf({ table: 'yaoki_outbox_dead', status: "'dead'", endedAt: time('died_at'), cause: 'cause' })}
UNION ALL${viewOf({
	table: 'yaoki_outbox_history',
	status: "CASE WHEN cause IS NULL THEN 'sent' ELSE 'dead' END",
	endedAt: time('ended_at'),
	cause: 'cause',
})};
`

export const OUTBOX_CLOCK: ClockTables = {
	table: 'yaoki_outbox_clock',
	extend: [
		'UPDATE yaoki_outbox SET lease_until = lease_until + ?2 WHERE lease_until > ?1',
		'UPDATE yaoki_outbox_permits SET until = until + ?2 WHERE until > ?1',
		'UPDATE yaoki_outbox_destinations SET paused_until = paused_until + ?2 WHERE paused_until > ?1',
		'UPDATE yaoki_outbox_relays SET seen_at = seen_at + ?2 WHERE ?1 > 0',
	],
}

export const OUTBOX_TABLES: TableSet = {
	versions: 'yaoki_outbox_schema',
	steps: [{ version: 1, name: 'first tables', sql: TABLES.trim() }],
	versionError: (found, needed) => new OutboxSchemaError(found, needed),
}

export const MIGRATIONS: readonly Migration[] = OUTBOX_TABLES.steps

export const NEEDED_VERSION: number = neededVersion(OUTBOX_TABLES)

export const schemaVersion = (connection: SqliteConnection): number =>
	sqliteSchemaVersion(connection, OUTBOX_TABLES)

export const migrate = (connection: SqliteConnection): MigrationReport =>
	migrateSqlite(connection, OUTBOX_TABLES)
