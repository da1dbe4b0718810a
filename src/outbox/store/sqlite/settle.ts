/**
 * Writes the outcome of messages. Sent messages, nearly all of them, are deleted in one statement whose row
 * count shows whether all were still held, and by their row numbers, because finding each id in its index
 * takes a fifth of the time of a claim and its settlement; only if not, or if a row cannot be written, the
 * work runs again alone, row by row. Failures are always written row by row: each statement shows whether
 * that row was held, and a bad row affects no other.
 *
 * A message moves to another table within one transaction: its copy is written before it is deleted.
 */
import { RUN_ALONE } from '../../../sql/group-commit.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { isBadRow } from '../../../sql/sqlite-errors.ts'
import type { StoredError } from '../../message/message.ts'
import type { ClaimRef, Settlement } from '../rows.ts'
import { MAX_TIME, sanitizeError, timeAfter, UNSTORABLE_ERROR } from '../stored-values.ts'
import { HISTORY_COLUMNS, MOVED_COLUMNS } from './schema.ts'

type FailedSettlement = Exclude<Settlement, { readonly type: 'sent' }>
type DeadSettlement = Extract<Settlement, { readonly type: 'dead' }>

/** What the functions below share. */
interface Batch {
	readonly connection: SqliteConnection
	readonly owner: string
	readonly now: number
	readonly keepHistory: boolean
}

/** A claim is identified by id, owner, attempt and, if given, the time of the claim. */
const MATCHES_CLAIM = 'id = ?1 AND locked_by = ?2 AND attempts = ?3'
const MATCH_CLAIMS = 'id IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3'

/** ?4 is the time of the claim, or null. */
const MATCHES_EXACT_CLAIM = `${MATCHES_CLAIM} AND locked_at = coalesce(?4, locked_at)`

/** How one statement matches many claims: by a range of row numbers, a list of them, or a list of ids. */
type MatchBy = 'range' | 'list' | 'ids'

/**
 * One statement handles all sent messages of an attempt. ?4 is the latest of their claims: a batch that is
 * written again must not end the next claim of a message that was sent, and then resent by an operator.
 */
const MATCH_BY: Readonly<Record<MatchBy, string>> = {
	range: 'seq BETWEEN ?1 AND ?5 AND locked_by = ?2 AND attempts = ?3 AND locked_at <= ?4',
	list: 'seq IN (SELECT value FROM json_each(?1)) AND locked_by = ?2 AND attempts = ?3 AND locked_at <= ?4',
	ids: `${MATCH_CLAIMS} AND locked_at <= ?4`,
}

const DELETE_ONE = `DELETE FROM yaoki_outbox WHERE ${MATCHES_EXACT_CLAIM}`
export const DELETE_BY: Readonly<Record<MatchBy, string>> = {
	range: `DELETE FROM yaoki_outbox WHERE ${MATCH_BY.range}`,
	list: `DELETE FROM yaoki_outbox WHERE ${MATCH_BY.list}`,
	ids: `DELETE FROM yaoki_outbox WHERE ${MATCH_BY.ids}`,
}

const copyToHistory = (
	condition: string,
	now = '?5',
): string => `INSERT INTO yaoki_outbox_history (${HISTORY_COLUMNS}, last_attempt_at, ended_at)
	SELECT ${HISTORY_COLUMNS}, locked_at, ${now} FROM yaoki_outbox WHERE ${condition}`
const COPY_ONE = copyToHistory(MATCHES_EXACT_CLAIM)
const COPY_BY: Readonly<Record<MatchBy, string>> = {
	range: copyToHistory(MATCH_BY.range, '?6'),
	list: copyToHistory(MATCH_BY.list),
	ids: copyToHistory(MATCH_BY.ids),
}

const UNLOCKED = 'locked_by = NULL, locked_at = NULL, lease_until = NULL'
/** The age of a message counts from its first due time, which is about to be replaced. */
const KEEP_FIRST_DUE = 'first_due_after_ms = coalesce(first_due_after_ms, max(0, due_at - created_at))'
const RETRY = `UPDATE yaoki_outbox SET due_at = ?5, ${KEEP_FIRST_DUE}, delay_ms = ?6, error_type = ?7, error_message = ?8, error_fingerprint = ?9,
	last_attempt_at = locked_at, crashes = 0, ${UNLOCKED} WHERE ${MATCHES_EXACT_CLAIM}`
const RELEASE = `UPDATE yaoki_outbox SET attempts = attempts - 1, ${UNLOCKED} WHERE ${MATCHES_EXACT_CLAIM}`
const RELEASE_UNTIL = `UPDATE yaoki_outbox SET attempts = attempts - 1, due_at = ?5, ${UNLOCKED} WHERE ${MATCHES_EXACT_CLAIM}`

/** Returns the ids that are no longer held. */
export function settle(
	connection: SqliteConnection,
	owner: string,
	settlements: readonly Settlement[],
	keepHistory: boolean,
	isSolo: boolean,
): readonly string[] {
	const batch: Batch = { connection, owner, now: connection.now(), keepHistory }
	const lost: string[] = []
	const sent: ClaimRef[] = []
	for (const settlement of settlements) {
		if (settlement.type === 'sent') sent.push(settlement)
		else if (!settleFailed(batch, settlement)) lost.push(settlement.id)
	}
	if (isSolo) for (const claim of sent) if (!deleteOne(batch, claim)) lost.push(claim.id)
	if (!isSolo) for (const group of claimsByAttempt(sent)) deleteTogether(batch, group)
	return lost
}

function deleteTogether(batch: Batch, group: ClaimGroup): void {
	const { connection, owner, now, keepHistory } = batch
	const { attempt, ids, sequences, latest } = group
	const [first = 0] = sequences
	const isNumbered = sequences.length === ids.length
	const how = !isNumbered ? 'ids' : isRange(sequences) ? 'range' : 'list'
	const which = how === 'ids' ? JSON.stringify(ids) : how === 'range' ? first : `[${sequences.join()}]`
	const params = [which, owner, attempt, latest, ...(how === 'range' ? [first + ids.length - 1] : [])]
	if (keepHistory) connection.run(COPY_BY[how], ...params, now)
	const deleted = connection.run(DELETE_BY[how], ...params)
	if (deleted < ids.length) throw RUN_ALONE
}

/** A message whose history row cannot be written is still deleted: it was sent. */
function deleteOne({ connection, owner, now, keepHistory }: Batch, claim: ClaimRef): boolean {
	const { id, attempt, claimedAt = null } = claim
	const remove = (): boolean => connection.run(DELETE_ONE, id, owner, attempt, claimedAt) > 0
	if (!keepHistory) return unlessBadRow(remove) ?? false
	const copyAndRemove = (): boolean => {
		connection.run(COPY_ONE, id, owner, attempt, claimedAt, now)
		return remove()
	}
	return unlessBadRow(() => inSavepoint(connection, copyAndRemove)) ?? unlessBadRow(remove) ?? false
}

/**
 * Returns false if the message is no longer held. A row that cannot be written is tried again with a
 * substitute error; if that fails too, the message stays as it is and returns when its lease expires.
 */
function settleFailed(batch: Batch, settlement: FailedSettlement): boolean {
	const first = unlessBadRow(() => writeFailed(batch, settlement))
	if (first !== undefined) return first
	const plain = settlement.type === 'release' ? settlement : { ...settlement, error: UNSTORABLE_ERROR }
	return unlessBadRow(() => writeFailed(batch, plain)) ?? false
}

function writeFailed(batch: Batch, settlement: FailedSettlement): boolean {
	const { connection, owner, now } = batch
	if (settlement.type === 'dead') return inSavepoint(connection, () => moveToDead(batch, settlement))
	const { id, attempt, claimedAt = null } = settlement
	if (settlement.type === 'release') {
		const { inMs } = settlement
		if (inMs === undefined) return connection.run(RELEASE, id, owner, attempt, claimedAt) > 0
		return connection.run(RELEASE_UNTIL, id, owner, attempt, claimedAt, timeAfter(now, inMs)) > 0
	}
	const { error, inMs, delayMs } = settlement
	const dueAt = timeAfter(now, inMs)
	return connection.run(RETRY, id, owner, attempt, claimedAt, dueAt, delayMs, ...errorColumns(error)) > 0
}

const errorColumns = (error: StoredError): readonly [string, string, string] => {
	const { type, message, fingerprint } = sanitizeError(error)
	return [type, message, fingerprint]
}

/** A settlement without an error keeps the error of the latest failure. */
const COPY_DEAD = `INSERT INTO yaoki_outbox_dead (${MOVED_COLUMNS}, last_attempt_at, died_at, cause, blocks, error_type, error_message,
		error_fingerprint)
	SELECT ${MOVED_COLUMNS}, locked_at, ?5, ?6, key IS NOT NULL AND ?7, coalesce(?8, error_type),
		CASE WHEN ?8 IS NULL THEN error_message ELSE ?9 END, CASE WHEN ?8 IS NULL THEN error_fingerprint ELSE ?10 END
	FROM yaoki_outbox WHERE ${MATCHES_EXACT_CLAIM}`

const REFUND_ATTEMPT = `UPDATE yaoki_outbox_dead SET attempts = attempts - 1,
	last_attempt_at = (SELECT q.last_attempt_at FROM yaoki_outbox q WHERE q.id = ?1) WHERE id = ?1`

const DELETE_BY_ID = 'DELETE FROM yaoki_outbox WHERE id = ? RETURNING seq, destination, key'

/** Later messages of the key that are not in flight. */
const FOLLOWERS = 'destination = ?1 AND key = ?2 AND seq > ?3 AND (lease_until IS NULL OR lease_until <= ?4)'
const COPY_FOLLOWERS = `INSERT INTO yaoki_outbox_dead (${HISTORY_COLUMNS}, last_attempt_at, died_at, cause, blocks)
	SELECT ${HISTORY_COLUMNS}, last_attempt_at, ?4, 'predecessor-dead', 1 FROM yaoki_outbox WHERE ${FOLLOWERS}`
const DELETE_FOLLOWERS = `DELETE FROM yaoki_outbox WHERE ${FOLLOWERS}`

/** Returns false if the message is no longer held. */
function moveToDead({ connection, owner, now }: Batch, settlement: DeadSettlement): boolean {
	const { id, attempt, claimedAt = null, cause, error, afterDeadLetter, refundAttempt } = settlement
	const columns = error ? errorColumns(error) : [null, null, null]
	const blocks = afterDeadLetter === 'skip' ? 0 : 1
	if (connection.run(COPY_DEAD, id, owner, attempt, claimedAt, now, cause, blocks, ...columns) === 0)
		return false
	if (refundAttempt) connection.run(REFUND_ATTEMPT, id)
	const [seq = null, destination = null, key = null] = connection.row(DELETE_BY_ID, id) ?? []
	if (afterDeadLetter === 'dead-letter-rest' && key !== null) {
		connection.run(COPY_FOLLOWERS, destination, key, seq, now)
		connection.run(DELETE_FOLLOWERS, destination, key, seq, now)
	}
	return true
}

/** Runs `work` completely or not at all, in a transaction that continues either way. */
function inSavepoint<T>(connection: SqliteConnection, work: () => T): T {
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

/** Returns undefined if this row cannot be written. Throws errors that affect more than the row. */
function unlessBadRow(work: () => boolean): boolean | undefined {
	try {
		return work()
	} catch (error) {
		if (isBadRow(error)) return undefined
		throw error
	}
}

interface ClaimGroup {
	readonly attempt: number
	readonly ids: string[]
	/** Shorter than `ids` if some claims do not have one. */
	readonly sequences: number[]
	/** When the latest of them was claimed. */
	latest: number
}

function claimsByAttempt(claims: readonly ClaimRef[]): Iterable<ClaimGroup> {
	const groups = new Map<number, ClaimGroup>()
	let group: ClaimGroup | undefined
	for (const { id, attempt, sequence, claimedAt = MAX_TIME } of claims) {
		if (group?.attempt !== attempt) {
			group = groups.get(attempt) ?? { attempt, ids: [], sequences: [], latest: claimedAt }
			groups.set(attempt, group)
		}
		group.ids.push(id)
		if (claimedAt > group.latest) group.latest = claimedAt
		if (sequence !== undefined) group.sequences.push(sequence)
	}
	return groups.values()
}

/** Returns true if the numbers are consecutive, as the numbers of a batch usually are. A range needs no list that is written and parsed. */
export function isRange(sequences: readonly number[]): boolean {
	const [first = 0] = sequences
	return sequences.every((sequence, at) => sequence === first + at)
}

const RENEW = `UPDATE yaoki_outbox SET lease_until = ?4 WHERE ${MATCH_CLAIMS}`
const STILL_HELD = `SELECT id FROM yaoki_outbox WHERE ${MATCH_CLAIMS}`

/** Returns the ids that are no longer held. */
export function renew(
	connection: SqliteConnection,
	owner: string,
	leaseMs: number,
	claims: readonly ClaimRef[],
): readonly string[] {
	const leaseUntil = timeAfter(connection.now(), leaseMs)
	const lost: string[] = []
	for (const { attempt, ids } of claimsByAttempt(claims)) {
		const json = JSON.stringify(ids)
		if (connection.run(RENEW, json, owner, attempt, leaseUntil) === ids.length) continue
		const held = new Set(connection.rows(STILL_HELD, json, owner, attempt).map(([id]) => id))
		for (const id of ids) if (!held.has(id)) lost.push(id)
	}
	return lost
}
