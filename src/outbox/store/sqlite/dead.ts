/** Moves messages out of the queue to the dead. Nothing is deleted before its copy is written, in the same transaction. */
import type { FailureNote } from '../../message/message.ts'
import type { Outcome } from '../rows.ts'
import type { Connection } from './connection.ts'
import { isBadRow } from './sqlite-error.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './tables.ts'

export type Verdict = Extract<Outcome, { readonly type: 'dead' }>

/** In the place of an error that the database does not take. */
export const REPLACEMENT: FailureNote = {
	type: 'Error',
	message: '(the error could not be written)',
	fingerprint: 'unwritable',
}

/** NUL ends a text in SQLite, and half a surrogate pair is no text at all: an error's words may have both. */
const UNWRITABLE = /[\0\p{Surrogate}]/gu
export const clean = (text: string): string => text.replace(UNWRITABLE, '\ufffd')

/** Without an error of its own it keeps the one of its latest failure. */
const BURY = `INSERT INTO yaoki_outbox_dead (${MOVED_COLUMNS}, last_attempt_at, died_at, cause, blocks, error_type, error_message,
		error_fingerprint)
	SELECT ${MOVED_COLUMNS}, locked_at, ?4, ?5, key IS NOT NULL AND ?6, coalesce(?7, error_type),
		CASE WHEN ?7 IS NULL THEN error_message ELSE ?8 END, CASE WHEN ?7 IS NULL THEN error_fingerprint ELSE ?9 END
	FROM yaoki_outbox WHERE id = ?1 AND locked_by = ?2 AND attempts = ?3`

const TAKE_OUT = 'DELETE FROM yaoki_outbox WHERE id = ? RETURNING seq, destination, key'

/** Those behind it that nobody has in flight. */
const FOLLOWERS = 'destination = ?1 AND key = ?2 AND seq > ?3 AND (lease_until IS NULL OR lease_until <= ?4)'
const PARK = `INSERT INTO yaoki_outbox_dead (${HISTORY_COLUMNS}, last_attempt_at, died_at, cause, blocks)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?4, 'parked', 1 FROM yaoki_outbox WHERE ${FOLLOWERS}`
const TAKE_OUT_FOLLOWERS = `DELETE FROM yaoki_outbox WHERE ${FOLLOWERS}`

/** False when it is no longer held. */
export function bury(connection: Connection, owner: string, verdict: Verdict, now: number): boolean {
	const { id, attempt, cause, error, stuck } = verdict
	const texts = error
		? [clean(error.type), clean(error.message), clean(error.fingerprint)]
		: [null, null, null]
	const blocks = stuck === 'dead-letter' ? 0 : 1
	if (connection.run(BURY, id, owner, attempt, now, cause, blocks, ...texts) === 0) return false
	const [seq = null, destination = null, key = null] = connection.row(TAKE_OUT, id) ?? []
	if (stuck === 'park' && key !== null) {
		connection.run(PARK, destination, key, seq, now)
		connection.run(TAKE_OUT_FOLLOWERS, destination, key, seq, now)
	}
	return true
}

/** All of it or nothing, in a transaction that goes on either way. */
export function safely<T>(connection: Connection, work: () => T): T {
	connection.run('SAVEPOINT yaoki_row')
	try {
		const result = work()
		connection.run('RELEASE yaoki_row')
		return result
	} catch (error) {
		if (isBadRow(error)) {
			connection.run('ROLLBACK TO yaoki_row')
			connection.run('RELEASE yaoki_row')
		}
		throw error
	}
}

/** Undefined when this one row can not be written. What is wrong with more than the row is thrown. */
export function written(work: () => boolean): boolean | undefined {
	try {
		return work()
	} catch (error) {
		if (isBadRow(error)) return undefined
		throw error
	}
}
