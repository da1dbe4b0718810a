/**
 * Writes the outcome of messages, one statement per kind. Usually all of a thousand messages were sent, which
 * is one statement; several kinds share one transaction and one commit. Each statement matches the claim and
 * returns the changed ids as one text: a thousand rows would cost the client more than the database.
 *
 * A row that cannot be written fails its batch. A batch with bad data is halved until that row is alone, and
 * then written with a substitute error: knowing that a message failed matters more than the text. The same
 * way the attempt log is reduced until it can be written: it must never prevent a settlement.
 */
import { TimeoutError } from '../../../core/errors/errors.ts'
import type { BoundedExecutor, StatementRunner } from '../../../sql/bounded-executor.ts'
import { isCancelledStatement, isDataError } from '../../../sql/postgres-errors.ts'
import { uuidList, type Value } from '../../../sql/postgres-values.ts'
import type { Settlement } from '../rows.ts'
import type { OutboxStore } from '../store.ts'
import { attemptsOf, MAX_TIME, sanitizeError, UNSTORABLE_ERROR, withLessLog } from '../stored-values.ts'
import { insertAttempts } from './attempts.ts'
import { MESSAGE_COLUMNS } from './schema.ts'

const list = (columns: readonly string[]): string => columns.join(', ')

/** Columns that are copied unchanged; each statement names the others. */
const COPIED = MESSAGE_COLUMNS.filter(
	(column) => column !== 'last_attempt_at' && !column.startsWith('error_'),
)
const ERRORS = ['error_type', 'error_message', 'error_fingerprint'] as const

const CHANGED_IDS = "string_agg(id::text, ',') as ids"
const UNLOCKED = 'locked_by = null, locked_at = null, lease_until = null'
const LATEST_ATTEMPT = 'coalesce(locked_at, last_attempt_at)'

/**
 * A subquery hides the number of ids from the planner, which might otherwise read the whole table for many.
 * $5 is the latest claim of the batch: a batch that is written again must not end the next claim of a message
 * that was sent, and then resent by an operator.
 */
const MATCH_SENT =
	'id = any((select $1::text)::uuid[]) and locked_by = $2::text and attempts = $3::int and locked_at <= $5::bigint'

/** Returns null if all rows matched, so that the ids need not be sent. */
const UNLESS_ALL = "case when count(*) < $4::int then coalesce(string_agg(id::text, ','), '') end as ids"

/** `deleted`: the messages that this relay still held. */
const SENT = `
with deleted as (
	delete from {s}.outbox where ${MATCH_SENT} returning id
)
select ${UNLESS_ALL} from deleted`

/** `deleted`: the messages that this relay still held. `kept`: their copies in the history. */
const SENT_WITH_HISTORY = `
with deleted as (
	delete from {s}.outbox where ${MATCH_SENT} returning *
), kept as (
	insert into {s}.outbox_history (${list(COPIED)}, seq, last_attempt_at, ${list(ERRORS)}, ended_at)
	select ${list(COPIED)}, seq, ${LATEST_ATTEMPT}, ${list(ERRORS)}, {now} from deleted
)
select ${UNLESS_ALL} from deleted`

/** `given`: the settlements. `clock`: the time. In the statements that start with them, `changed` are the claims that this relay still held. */
const GIVEN = `
given as materialized (
	select * from json_to_recordset($1::text::json) as r(
		id uuid, attempt int, "claimedAt" bigint, "inMs" double precision, "delayMs" double precision,
		cause text, "afterDeadLetter" text, "refundAttempt" boolean, type text, message text, fingerprint text)
), clock as materialized (select {now} as ms)`

/** `any` instead of `=`, because a join by equality lets the planner read all messages in the order of their ids. */
const MATCHES_CLAIM = 'o.id = any(array[given.id]) and o.locked_by = $2::text and o.attempts = given.attempt'

/** Sent messages are matched by the latest claim of their batch, others by the time of their own claim. */
const MATCHES_EXACT_CLAIM = `${MATCHES_CLAIM} and o.locked_at = coalesce(given."claimedAt", o.locked_at)`

const DUE_AT = `least((select ms from clock) + ceil(coalesce(given."inMs", 0)), ${MAX_TIME})::bigint`

/** The age of a message counts from its first due time, which is about to be replaced. */
const FIRST_DUE_AFTER = 'coalesce(o.first_due_after_ms, greatest(0, o.due_at - o.created_at))'

const RETRY = `
with ${GIVEN}, changed as (
	update {s}.outbox o set due_at = ${DUE_AT}, first_due_after_ms = ${FIRST_DUE_AFTER}, delay_ms = given."delayMs", crashes = 0,
		last_attempt_at = ${LATEST_ATTEMPT}, error_type = given.type, error_message = given.message,
		error_fingerprint = given.fingerprint, ${UNLOCKED}
	from given where ${MATCHES_EXACT_CLAIM} returning o.id
)
select ${CHANGED_IDS} from changed`

const RELEASE = `
with ${GIVEN}, changed as (
	update {s}.outbox o set attempts = o.attempts - 1, ${UNLOCKED},
		due_at = case when given."inMs" is null then o.due_at else ${DUE_AT} end
	from given where ${MATCHES_EXACT_CLAIM} returning o.id
)
select ${CHANGED_IDS} from changed`

const FREE = '(o.lease_until is null or o.lease_until <= (select ms from clock))'

/** Ordered, so that only the index of keys fits. */
const FOLLOWERS = `
	select o.ctid as at from {s}.outbox o
	where changed."afterDeadLetter" = 'dead-letter-rest' and o.destination = changed.destination and o.key = changed.key
		and o.seq > changed.seq and ${FREE} and o.id not in (select given.id from given)
	order by o.seq`

const ATTEMPTS = 'attempts - (coalesce("refundAttempt", false))::int'

/**
 * A settlement without an error keeps the error of the latest failure.
 *
 * `followers`: the later messages of the keys that become dead letters too. `inserted`: all dead letters.
 */
const DEAD = `
with ${GIVEN}, changed as (
	delete from {s}.outbox o using given where ${MATCHES_EXACT_CLAIM}
	returning o.*, given.cause, given."afterDeadLetter", given."refundAttempt", given.type, given.message, given.fingerprint
), followers as (
	delete from {s}.outbox o where o.ctid = any(array(select f.at from changed cross join lateral (${FOLLOWERS}) f)) and ${FREE}
	returning o.*
), inserted as (
	insert into {s}.outbox_dead (${list(COPIED)}, seq, last_attempt_at, ${list(ERRORS)}, died_at, cause, blocks)
	select ${list(COPIED.map((column) => (column === 'attempts' ? ATTEMPTS : column)))}, seq,
		case when "refundAttempt" then last_attempt_at else ${LATEST_ATTEMPT} end,
		case when type is null then error_type else type end,
		case when type is null then error_message else message end,
		case when type is null then error_fingerprint else fingerprint end,
		(select ms from clock), cause, "afterDeadLetter" <> 'skip' and key is not null
	from changed
	union all
	select ${list(COPIED)}, seq, ${LATEST_ATTEMPT}, ${list(ERRORS)}, (select ms from clock), 'predecessor-dead', true from followers
)
select ${CHANGED_IDS} from changed`

/** `renewed`: the claims that this relay still held. */
const RENEW = `
with renewed as (
	update {s}.outbox o set lease_until = {now} + $3::bigint
	from json_to_recordset($1::text::json) as given(id uuid, attempt int)
	where ${MATCHES_CLAIM} returning o.id
)
select ${CHANGED_IDS} from renewed`

interface Step {
	readonly sql: string
	readonly values: readonly Value[]
	readonly ids: readonly string[]
}

export function settleOperations(executor: BoundedExecutor): Pick<OutboxStore, 'settle' | 'renew'> {
	const settle: OutboxStore['settle'] = async (owner, settlements, keepHistory) => {
		if (settlements.length === 0) return []
		let isLogRejected = false
		try {
			const steps = stepsFor(owner, settlements, keepHistory)
			if (!settlements.some(({ log }) => log)) return await runSteps(executor, steps)
			return await executor.transaction(async (transaction) => {
				const lost = await runInOrder(transaction, steps)
				isLogRejected = true
				await insertAttempts(transaction, attemptsOf(settlements, lost))
				isLogRejected = false
				return lost
			})
		} catch (error) {
			if (isLogRejected && (settlements.length === 1 || !isDataError(error)))
				return settle(owner, settlements.map(withLessLog), keepHistory)
			if (isCancelledStatement(error)) throw await timeoutError(executor, error)
			if (!isDataError(error)) throw error
			const [first] = settlements
			if (first !== undefined && settlements.length === 1) {
				if (!('error' in first) || first.error === null || first.error === UNSTORABLE_ERROR) throw error
				return settle(owner, [{ ...first, error: UNSTORABLE_ERROR }], keepHistory)
			}
			const middle = settlements.length >> 1
			const lost = await settle(owner, settlements.slice(0, middle), keepHistory)
			return [...lost, ...(await settle(owner, settlements.slice(middle), keepHistory))]
		}
	}
	return {
		settle,
		async renew(owner, leaseMs, claims) {
			if (claims.length === 0) return []
			const records = claims.map(({ id, attempt }) => ({ id, attempt }))
			const values = [JSON.stringify(records), owner, Math.ceil(leaseMs)]
			return runStep(executor, { sql: RENEW, values, ids: claims.map(({ id }) => id) })
		},
	}
}

/** Returns an error with the time after which the server cancels statements; the server's error if a person cancelled it. */
async function timeoutError(executor: BoundedExecutor, error: unknown): Promise<unknown> {
	const limitMs = await executor.serverTimeoutMs().catch(() => 0)
	return limitMs > 0 ? new TimeoutError('settle', limitMs) : error
}

async function runSteps(executor: BoundedExecutor, steps: readonly Step[]): Promise<readonly string[]> {
	const [only] = steps
	if (only !== undefined && steps.length === 1) return runStep(executor, only)
	return executor.transaction((transaction) => runInOrder(transaction, steps))
}

async function runInOrder(transaction: StatementRunner, steps: readonly Step[]): Promise<readonly string[]> {
	const lost: string[] = []
	for (const step of steps) lost.push(...(await runStep(transaction, step)))
	return lost
}

/** Returns the ids that were not changed. */
async function runStep(executor: StatementRunner, { sql, values, ids }: Step): Promise<readonly string[]> {
	const [result] = await executor.run<{ ids: string | null }>(sql, values)
	const isAll = (sql === SENT || sql === SENT_WITH_HISTORY) && (result?.ids ?? null) === null
	if (isAll) return []
	const changed = new Set((result?.ids ?? '').split(','))
	return ids.filter((id) => !changed.has(id))
}

function stepsFor(owner: string, settlements: readonly Settlement[], keepHistory: boolean): readonly Step[] {
	const sent = new Map<number, { readonly ids: string[]; latest: number }>()
	const others: Record<'retry' | 'release' | 'dead', Settlement[]> = { retry: [], release: [], dead: [] }
	for (const settlement of settlements) {
		if (settlement.type !== 'sent') others[settlement.type].push(settlement)
		else {
			const { id, attempt, claimedAt = MAX_TIME } = settlement
			const group = sent.get(attempt)
			if (group === undefined) sent.set(attempt, { ids: [id], latest: claimedAt })
			else {
				group.ids.push(id)
				if (claimedAt > group.latest) group.latest = claimedAt
			}
		}
	}
	const steps: Step[] = []
	for (const [attempt, { ids, latest }] of sent) {
		const sql = keepHistory ? SENT_WITH_HISTORY : SENT
		steps.push({ sql, ids, values: [uuidList(ids), owner, attempt, ids.length, latest] })
	}
	const add = (sql: string, some: readonly Settlement[]) => {
		if (some.length === 0) return
		steps.push({ sql, ids: some.map(({ id }) => id), values: [JSON.stringify(some.map(toRecord)), owner] })
	}
	add(RETRY, others.retry)
	add(RELEASE, others.release)
	add(DEAD, others.dead)
	return steps
}

/** Flattens a settlement into the columns of GIVEN, where `type` is the error's. */
function toRecord(settlement: Settlement): object {
	const { id, attempt, claimedAt } = settlement
	if (settlement.type === 'sent' || settlement.type === 'release')
		return { id, attempt, claimedAt, inMs: settlement.type === 'release' ? settlement.inMs : undefined }
	const { type: _, log: __, error, ...fields } = settlement
	return { ...fields, ...(error && sanitizeError(error)) }
}
