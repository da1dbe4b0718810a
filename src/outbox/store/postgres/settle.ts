/**
 * Settling: mostly a thousand that were sent, which is one statement alone. More than one kind is one transaction, for one commit. One
 * row that can not be written makes the whole batch fail, so a batch with bad data is halved until that row is alone, and then
 * what can be written of it is: that a message failed is worth more than the words it failed with.
 */
import type { StoredError } from '../../message/message.ts'
import type { ClaimRef, Settlement } from '../rows.ts'
import { cleanNote, UNWRITABLE_NOTE } from '../unwritable.ts'
import type { Database, Session, Value } from './connection.ts'
import { isDataFault } from './faults.ts'
import { asJson, uuidList } from './rows.ts'
import { DEAD, RELEASE, RENEW, RETRY, SENT, SENT_WITH_HISTORY } from './settle-sql.ts'

/** A statement with what it is about. */
interface Step {
	readonly sql: string
	readonly values: readonly Value[]
	readonly ids: readonly string[]
}

export async function settle(
	database: Database,
	owner: string,
	outcomes: readonly Settlement[],
	keepHistory: boolean,
): Promise<readonly string[]> {
	if (outcomes.length === 0) return []
	const write = (some: readonly Settlement[]) => writeAll(database, stepsOf(owner, some, keepHistory))
	try {
		return await write(outcomes)
	} catch (error) {
		if (!isDataFault(error)) throw error
		const [first] = outcomes
		if (first !== undefined && outcomes.length === 1) return writeMended(first, write, error)
		const middle = outcomes.length >> 1
		const lost = await settle(database, owner, outcomes.slice(0, middle), keepHistory)
		return [...lost, ...(await settle(database, owner, outcomes.slice(middle), keepHistory))]
	}
}

async function writeAll(database: Database, steps: readonly Step[]): Promise<readonly string[]> {
	const [only] = steps
	if (only !== undefined && steps.length === 1) return take(database, only)
	return database.transaction(async (session) => {
		const lost: string[] = []
		for (const step of steps) lost.push(...(await take(session, step)))
		return lost
	})
}

/** Answers the ids that it did not change. */
async function take(session: Session, { sql, values, ids }: Step): Promise<readonly string[]> {
	const [answer] = await session.run<{ ids: string | null }>(sql, values)
	const isAll = (sql === SENT || sql === SENT_WITH_HISTORY) && (answer?.ids ?? null) === null
	if (isAll) return []
	const changed = new Set((answer?.ids ?? '').split(','))
	return ids.filter((id) => !changed.has(id))
}

function stepsOf(owner: string, outcomes: readonly Settlement[], keepHistory: boolean): readonly Step[] {
	const sent = new Map<number, string[]>()
	const others: Record<'retry' | 'release' | 'dead', Settlement[]> = { retry: [], release: [], dead: [] }
	for (const outcome of outcomes) {
		if (outcome.type !== 'sent') others[outcome.type].push(outcome)
		else {
			const ids = sent.get(outcome.attempt)
			if (ids === undefined) sent.set(outcome.attempt, [outcome.id])
			else ids.push(outcome.id)
		}
	}
	const steps: Step[] = []
	for (const [attempt, ids] of sent) {
		const sql = keepHistory ? SENT_WITH_HISTORY : SENT
		steps.push({ sql, ids, values: [uuidList(ids), owner, attempt, ids.length] })
	}
	const add = (sql: string, some: readonly Settlement[]) => {
		if (some.length === 0) return
		steps.push({ sql, ids: some.map(({ id }) => id), values: [asJson(some.map(asRecord)), owner] })
	}
	add(RETRY, others.retry)
	add(RELEASE, others.release)
	add(DEAD, others.dead)
	return steps
}

/** Flat, under the names that the statements know. `type` is the error's there. */
function asRecord(outcome: Settlement): object {
	const { id, attempt, claimedAt } = outcome
	if (outcome.type === 'retry') {
		return { id, attempt, claimedAt, inMs: outcome.inMs, delayMs: outcome.delayMs, ...outcome.error }
	}
	if (outcome.type === 'dead') {
		const { cause, afterDeadLetter, refundAttempt, error } = outcome
		return { id, attempt, claimedAt, cause, afterDeadLetter, refundAttempt, ...error }
	}
	return { id, attempt, claimedAt, inMs: outcome.type === 'release' ? outcome.inMs : undefined }
}

/** First without the characters that no text of PostgreSQL holds, then without its words. */
async function writeMended(
	outcome: Settlement,
	write: (some: readonly Settlement[]) => Promise<readonly string[]>,
	error: unknown,
): Promise<readonly string[]> {
	const note = 'error' in outcome ? outcome.error : null
	if (note === null) throw error
	try {
		return await write([withNote(outcome, cleanNote(note))])
	} catch (again) {
		if (!isDataFault(again)) throw again
		return write([withNote(outcome, UNWRITABLE_NOTE)])
	}
}

const withNote = (outcome: Settlement, error: StoredError): Settlement =>
	outcome.type === 'retry' || outcome.type === 'dead' ? { ...outcome, error } : outcome

/** Leases last longer; who is gone is answered. */
export async function renew(
	database: Database,
	owner: string,
	leaseMs: number,
	held: readonly ClaimRef[],
): Promise<readonly string[]> {
	if (held.length === 0) return []
	const values = [asJson(held.map(({ id, attempt }) => ({ id, attempt }))), owner, Math.ceil(leaseMs)]
	return take(database, { sql: RENEW, values, ids: held.map(({ id }) => id) })
}
