/**
 * Writes messages, row by row with bound values: SQLite runs in this thread, so that there is no way to save, and one JSON
 * parameter for a thousand rows took about 1.4 times as long (a rough measurement, commits included). On the user's connection it all happens before the call returns, so that a
 * transaction that is committed right after has it in.
 */
import { StoreError } from '../errors.ts'
import type { SqliteClient, SqliteStatement } from '../queryable.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import { DATABASE_NOW, type SqlValue } from './connection.ts'
import { isBusy } from './sqlite-error.ts'

const COLUMNS =
	'id, destination, topic, key, payload, headers, max_retries, expires_at, due_at, created_at, dedupe_key'
/** ?9 is when it is due, ?10 what a test has for a clock. */
const VALUES = `?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce(?9, ?10, ${DATABASE_NOW}), coalesce(?10, ${DATABASE_NOW})`

const INSERT = `INSERT INTO yaoki_outbox (${COLUMNS}) VALUES (${VALUES}, NULL)`

/** Answers a row when it was written. */
const INSERT_UNLESS_KNOWN = `INSERT INTO yaoki_outbox (${COLUMNS}) SELECT ${VALUES}, ?11
	WHERE NOT EXISTS (SELECT 1 FROM yaoki_outbox_dead WHERE dedupe_key = ?11)
		AND NOT EXISTS (SELECT 1 FROM yaoki_outbox_history WHERE dedupe_key = ?11)
	ON CONFLICT (dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING RETURNING id`

const WHO_HAS_KEY = `SELECT id FROM yaoki_outbox WHERE dedupe_key = ?1
	UNION ALL SELECT id FROM yaoki_outbox_dead WHERE dedupe_key = ?1
	UNION ALL SELECT id FROM yaoki_outbox_history WHERE dedupe_key = ?1 LIMIT 1`

/** What runs a statement: the store's own connection or the user's. */
export type All = (sql: string, ...params: SqlValue[]) => readonly unknown[]

/** Answers the duplicates. Not atomic by itself. */
export function insertRows(all: All, rows: readonly NewRow[], now: number | null): Map<string, string> {
	const duplicates = new Map<string, string>()
	for (const row of rows) {
		const { dedupeKey } = row
		if (dedupeKey === null) all(INSERT, ...valuesOf(row, now))
		else if (all(INSERT_UNLESS_KNOWN, ...valuesOf(row, now), dedupeKey).length === 0)
			duplicates.set(row.id, onlyText(all(WHO_HAS_KEY, dedupeKey)))
	}
	return duplicates
}

const valuesOf = (row: NewRow, now: number | null): SqlValue[] => [
	row.id,
	row.destination,
	row.topic,
	row.key,
	row.payload,
	row.headers,
	row.maxRetries,
	row.expiresAt,
	row.notBefore,
	now,
]

/** Of the only row, which the user's connection gives as an object and ours as an array. */
const onlyText = (rows: readonly unknown[]): string => String(Object.values(Object(rows[0]))[0])

const clients = new WeakMap<SqliteClient, Map<string, SqliteStatement>>()

function allOf(tx: SqliteClient): All {
	const statements = clients.get(tx) ?? new Map<string, SqliteStatement>()
	clients.set(tx, statements)
	const prepared = (sql: string): SqliteStatement => {
		const known = statements.get(sql) ?? tx.prepare(sql)
		statements.set(sql, known)
		return known
	}
	return (sql, ...params) => {
		try {
			return prepared(sql).all(...params)
		} catch (error) {
			// Who has closed a connection and opened it again has statements that are over.
			if (Object(error).code !== 'ERR_INVALID_STATE') throw error
			statements.delete(sql)
			return prepared(sql).all(...params)
		}
	}
}

const IMMEDIATE =
	"somebody else writes, such as a relay; open your connection by new DatabaseSync(file, { timeout: 5_000 }) and begin with 'BEGIN IMMEDIATE', so that it waits there"
const TOO_LATE =
	"your transaction has read before somebody else wrote, and can write no more; roll it back, and begin with 'BEGIN IMMEDIATE' (and { timeout: 5_000 } on your connection)"
const BUSY_SNAPSHOT = 517

/** On the user's connection, all or none of them: who catches the error may still commit the rest of the transaction. */
export function insertInto(tx: SqliteClient, rows: readonly NewRow[], now: number | null): InsertResult {
	try {
		return insertAll(tx, rows, now)
	} catch (error) {
		if (!isBusy(error)) throw error
		// It is the user's connection that did not wait, and no store can wait in its place: within this tick it has to be written.
		const hint = Object(error).errcode === BUSY_SNAPSHOT ? TOO_LATE : IMMEDIATE
		throw new StoreError('enqueuing in your transaction', error, hint)
	}
}

function insertAll(tx: SqliteClient, rows: readonly NewRow[], now: number | null): InsertResult {
	const all = allOf(tx)
	const isInTransaction = tx.isTransaction
	if (rows.length === 1) return { duplicates: insertRows(all, rows, now), isInTransaction }
	all('SAVEPOINT yaoki_insert')
	try {
		const duplicates = insertRows(all, rows, now)
		all('RELEASE yaoki_insert')
		return { duplicates, isInTransaction }
	} catch (error) {
		undo(all)
		throw error
	}
}

function undo(all: All): void {
	try {
		all('ROLLBACK TO yaoki_insert')
		all('RELEASE yaoki_insert')
	} catch {
		// A full disk has SQLite roll the whole transaction back by itself; the first error says so.
	}
}
