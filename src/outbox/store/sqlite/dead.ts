/** Moves messages out of the queue to the dead. Nothing is deleted before its copy is written, in the same transaction. */
import type { StoredError } from '../../message/message.ts'
import type { Settlement } from '../rows.ts'
import { cleanNote } from '../unwritable.ts'
import type { Connection } from './connection.ts'
import { IS_HELD_STILL } from './held.ts'
import { isBadRow } from './sqlite-error.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './tables.ts'

export type Verdict = Extract<Settlement, { readonly type: 'dead' }>

/** The three columns of an error. */
export const textsOf = (error: StoredError): readonly [string, string, string] => {
	const { type, message, fingerprint } = cleanNote(error)
	return [type, message, fingerprint]
}

/** Without an error of its own it keeps the one of its latest failure. */
const BURY = `INSERT INTO yaoki_outbox_dead (${MOVED_COLUMNS}, last_attempt_at, died_at, cause, blocks, error_type, error_message,
		error_fingerprint)
	SELECT ${MOVED_COLUMNS}, locked_at, ?5, ?6, key IS NOT NULL AND ?7, coalesce(?8, error_type),
		CASE WHEN ?8 IS NULL THEN error_message ELSE ?9 END, CASE WHEN ?8 IS NULL THEN error_fingerprint ELSE ?10 END
	FROM yaoki_outbox WHERE ${IS_HELD_STILL}`

/** What was not even tried has the attempts that it had before the claim. */
const REFUND = `UPDATE yaoki_outbox_dead SET attempts = attempts - 1,
	last_attempt_at = (SELECT q.last_attempt_at FROM yaoki_outbox q WHERE q.id = ?1) WHERE id = ?1`

const TAKE_OUT = 'DELETE FROM yaoki_outbox WHERE id = ? RETURNING seq, destination, key'

/** Those behind it that nobody has in flight. */
const FOLLOWERS = 'destination = ?1 AND key = ?2 AND seq > ?3 AND (lease_until IS NULL OR lease_until <= ?4)'
const PARK = `INSERT INTO yaoki_outbox_dead (${HISTORY_COLUMNS}, last_attempt_at, died_at, cause, blocks)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?4, 'predecessor-dead', 1 FROM yaoki_outbox WHERE ${FOLLOWERS}`
const TAKE_OUT_FOLLOWERS = `DELETE FROM yaoki_outbox WHERE ${FOLLOWERS}`

/** False when it is no longer held. */
export function bury(connection: Connection, owner: string, verdict: Verdict, now: number): boolean {
	const { id, attempt, claimedAt = null, cause, error, afterDeadLetter } = verdict
	const texts = error ? textsOf(error) : [null, null, null]
	const blocks = afterDeadLetter === 'skip' ? 0 : 1
	if (connection.run(BURY, id, owner, attempt, claimedAt, now, cause, blocks, ...texts) === 0) return false
	if (verdict.refundAttempt) connection.run(REFUND, id)
	const [seq = null, destination = null, key = null] = connection.row(TAKE_OUT, id) ?? []
	if (afterDeadLetter === 'dead-letter-rest' && key !== null) {
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
