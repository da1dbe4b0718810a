/**
 * Inserts messages row by row with bound values: SQLite runs in this thread, so there are no round trips to
 * save, and one JSON parameter for a thousand rows took about 1.4 times as long (a rough measurement, commits
 * included). On the user's connection everything happens before the call returns, so a commit right after it
 * includes the messages.
 */
import type { SqliteClient } from '../../../sql/clients.ts'
import { isOpen, type RunStatement, runOn } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection, SqlValue } from '../../../sql/sqlite-connection.ts'
import { transactionState } from '../../../sql/transaction-state.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import type { InsertOptions } from '../store.ts'
import { DEFAULT_DEDUPE_FOR_MS, HELD_KEY_MS, MAX_TIME, timeAfter } from '../stored-values.ts'

const COLUMNS =
	'id, destination, topic, key, payload, headers, max_retries, expires_at, due_at, created_at, dedupe_key'
/** ?9 is `notBefore`, ?10 now. */
const VALUES = '?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, coalesce(?9, ?10), ?10'

const INSERT = `INSERT INTO yaoki_outbox (${COLUMNS}) VALUES (${VALUES}, ?11)`

/*
 * A dedupe key is taken until it expires, and as long as its message is queued or dead. The message is looked up
 * only for expired keys.
 */
const hasMessage = (key: string): string => `(EXISTS (SELECT 1 FROM yaoki_outbox q WHERE q.id = ${key}.id)
	OR EXISTS (SELECT 1 FROM yaoki_outbox_dead d WHERE d.id = ${key}.id))`

/** ?1 key, ?2 id of the message, ?3 `notBefore`, ?4 now, ?5 the lifetime. Returns a row if the key was free. */
const TAKE_KEY = `INSERT INTO yaoki_outbox_dedupe AS k (dedupe_key, id, expires_at)
	VALUES (?1, ?2, min(max(coalesce(?3, 0), ?4) + ?5, ${MAX_TIME}))
	ON CONFLICT (dedupe_key) DO UPDATE SET id = excluded.id, expires_at = excluded.expires_at
	WHERE k.expires_at <= ?4 AND NOT ${hasMessage('k')} RETURNING id`

const KEY_HOLDER = 'SELECT id FROM yaoki_outbox_dedupe WHERE dedupe_key = ?1'

/** Returns the duplicates. Not atomic by itself. */
export function insertRows(
	run: RunStatement,
	rows: readonly NewRow[],
	now: number,
	{ dedupeForMs = DEFAULT_DEDUPE_FOR_MS }: InsertOptions = {},
): Map<string, string> {
	const duplicates = new Map<string, string>()
	for (const row of rows) {
		const { id, dedupeKey, notBefore } = row
		const isFree =
			dedupeKey === null || run(TAKE_KEY, dedupeKey, id, notBefore, now, timeAfter(0, dedupeForMs)).length > 0
		if (isFree) run(INSERT, ...valuesOf(row, now))
		else duplicates.set(id, onlyText(run(KEY_HOLDER, dedupeKey)))
	}
	return duplicates
}

function valuesOf(row: NewRow, now: number): SqlValue[] {
	const { id, destination, topic, key, payload, headers, maxRetries, expiresAt, notBefore, dedupeKey } = row
	return [id, destination, topic, key, payload, headers, maxRetries, expiresAt, notBefore, now, dedupeKey]
}

/** The user's connection returns objects, the store's own arrays. */
const onlyText = (rows: readonly unknown[]): string => String(Object.values(Object(rows[0]))[0])

/** Inserts all rows or none on the user's connection: a caller that catches the error may still commit the rest of its transaction. */
export function insertInto(
	tx: SqliteClient,
	rows: readonly NewRow[],
	now: number,
	options: InsertOptions | undefined,
): InsertResult {
	const run = runOn(tx)
	const state = transactionState(tx)
	let isInTransaction = state === 'unknown' ? undefined : state === 'open'
	if (options?.requiresTransaction) {
		isInTransaction ??= isOpen(run)
		if (!isInTransaction) return { duplicates: new Map(), isInTransaction }
	}
	// One row is one statement, unless it takes a dedupe key too.
	if (rows.length === 1 && rows[0]?.dedupeKey === null)
		return { duplicates: insertRows(run, rows, now, options), isInTransaction }
	run('SAVEPOINT yaoki_insert')
	try {
		const duplicates = insertRows(run, rows, now, options)
		run('RELEASE yaoki_insert')
		return { duplicates, isInTransaction }
	} catch (error) {
		rollBack(run)
		throw error
	}
}

function rollBack(run: RunStatement): void {
	try {
		run('ROLLBACK TO yaoki_insert')
		run('RELEASE yaoki_insert')
	} catch {
		// SQLite rolled back the whole transaction by itself, for example because the disk is full; the first
		// error reports it.
	}
}

const EXPIRED = `SELECT k.dedupe_key, ${hasMessage('k')} FROM yaoki_outbox_dedupe k WHERE k.expires_at <= ?
	ORDER BY k.expires_at LIMIT ?`
const IS_LISTED = 'dedupe_key IN (SELECT value FROM json_each(?))'
const DROP = `DELETE FROM yaoki_outbox_dedupe WHERE ${IS_LISTED}`
const KEEP = `UPDATE yaoki_outbox_dedupe SET expires_at = ? WHERE ${IS_LISTED}`

export function dropDedupeKeys(connection: SqliteConnection, limit: number): number {
	const now = connection.now()
	const expired = connection.rows(EXPIRED, now, limit)
	const keysWith = (isTaken: number): string =>
		JSON.stringify(expired.filter((row) => row[1] === isTaken).map(([key]) => key))
	if (expired.length === 0) return 0
	connection.run(DROP, keysWith(0))
	connection.run(KEEP, timeAfter(now, HELD_KEY_MS), keysWith(1))
	return expired.length
}
