/**
 * Writes down what became of messages. Those that were sent, nearly all, are deleted in one statement; how many it deleted says
 * whether all were still held, and only if not (or if one can not be written) it is done again row by row, with care. What failed is written
 * row by row always: a statement each tells whether that one was held, and one that fails spoils no other.
 *
 * The fence is what names the claim: whoever comes after its lease was taken over names one that is over.
 */
import type { ClaimRef, Settlement } from '../rows.ts'
import { UNWRITABLE_NOTE } from '../unwritable.ts'
import { after, type Connection } from './connection.ts'
import { bury, safely, textsOf, written } from './dead.ts'
import { CAREFULLY } from './group-commit.ts'
import { ARE_HELD, byAttempt, IS_HELD, IS_HELD_STILL } from './held.ts'
import { HISTORY_COLUMNS } from './tables.ts'

type Failed = Exclude<Settlement, { readonly type: 'sent' }>

const DELETE_ONE = `DELETE FROM yaoki_outbox WHERE ${IS_HELD}`
const DELETE_MANY = `DELETE FROM yaoki_outbox WHERE ${ARE_HELD}`

const keep = (
	which: string,
): string => `INSERT INTO yaoki_outbox_history (${HISTORY_COLUMNS}, last_attempt_at, ended_at)
	SELECT ${HISTORY_COLUMNS}, locked_at, ?4 FROM yaoki_outbox WHERE ${which}`
const KEEP_ONE = keep(IS_HELD)
const KEEP_MANY = keep(ARE_HELD)

const UNLOCKED = 'locked_by = NULL, locked_at = NULL, lease_until = NULL'
const RETRY = `UPDATE yaoki_outbox SET due_at = ?5, delay_ms = ?6, error_type = ?7, error_message = ?8, error_fingerprint = ?9,
	last_attempt_at = locked_at, crashes = 0, ${UNLOCKED} WHERE ${IS_HELD_STILL}`
const RELEASE = `UPDATE yaoki_outbox SET attempts = attempts - 1, ${UNLOCKED} WHERE ${IS_HELD_STILL}`
const RELEASE_UNTIL = `UPDATE yaoki_outbox SET attempts = attempts - 1, due_at = ?5, ${UNLOCKED} WHERE ${IS_HELD_STILL}`

/** Answers the ids of those that are no longer held. */
export function settle(
	connection: Connection,
	owner: string,
	outcomes: readonly Settlement[],
	keepHistory: boolean,
	isCareful: boolean,
): readonly string[] {
	const now = connection.now()
	const lost: string[] = []
	const sent: ClaimRef[] = []
	for (const outcome of outcomes) {
		if (outcome.type === 'sent') sent.push(outcome)
		else if (!settleFailed(connection, owner, outcome, now)) lost.push(outcome.id)
	}
	for (const [attempt, ids] of byAttempt(sent)) {
		if (!isCareful) deleteTogether(connection, owner, attempt, ids, keepHistory ? now : undefined)
		else
			for (const id of ids)
				if (!deleteApart(connection, owner, { id, attempt }, keepHistory ? now : undefined)) lost.push(id)
	}
	return lost
}

function deleteTogether(
	connection: Connection,
	owner: string,
	attempt: number,
	ids: readonly string[],
	keptAt: number | undefined,
): void {
	const [only] = ids
	const isOne = ids.length === 1 && only !== undefined
	const which = isOne ? only : JSON.stringify(ids)
	if (keptAt !== undefined) connection.run(isOne ? KEEP_ONE : KEEP_MANY, which, owner, attempt, keptAt)
	const deleted = connection.run(isOne ? DELETE_ONE : DELETE_MANY, which, owner, attempt)
	if (deleted < ids.length) throw CAREFULLY
}

/** A message whose history can not be written was sent all the same. */
function deleteApart(
	connection: Connection,
	owner: string,
	{ id, attempt }: ClaimRef,
	keptAt: number | undefined,
): boolean {
	const remove = (): boolean => connection.run(DELETE_ONE, id, owner, attempt) > 0
	if (keptAt === undefined) return written(remove) ?? false
	const keepAndRemove = (): boolean => {
		connection.run(KEEP_ONE, id, owner, attempt, keptAt)
		return remove()
	}
	return written(() => safely(connection, keepAndRemove)) ?? written(remove) ?? false
}

/**
 * False when it is no longer held. What can not be written as it is, is written with other words for its error; and what can not be written
 * even so stays as it is, to come back when its lease is over.
 */
function settleFailed(connection: Connection, owner: string, outcome: Failed, now: number): boolean {
	const first = written(() => writeFailed(connection, owner, outcome, now))
	if (first !== undefined) return first
	const plain = outcome.type === 'release' ? outcome : { ...outcome, error: UNWRITABLE_NOTE }
	return written(() => writeFailed(connection, owner, plain, now)) ?? false
}

function writeFailed(connection: Connection, owner: string, outcome: Failed, now: number): boolean {
	const { id, attempt, claimedAt = null } = outcome
	if (outcome.type === 'dead') return safely(connection, () => bury(connection, owner, outcome, now))
	if (outcome.type === 'release') {
		if (outcome.inMs === undefined) return connection.run(RELEASE, id, owner, attempt, claimedAt) > 0
		return connection.run(RELEASE_UNTIL, id, owner, attempt, claimedAt, after(now, outcome.inMs)) > 0
	}
	const { error, inMs, delayMs } = outcome
	const dueAt = after(now, inMs)
	return connection.run(RETRY, id, owner, attempt, claimedAt, dueAt, delayMs, ...textsOf(error)) > 0
}
