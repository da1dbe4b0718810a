/**
 * Writes a mark in the user's transaction, in one statement. A second transaction with the same message waits in
 * the unique index until the first one ends: then the message is a duplicate, or the mark is written because the
 * first one was rolled back. To reject instead of waiting, the statement first tries a lock of the message that
 * lasts until the end of the transaction.
 */
import { countOfClient, rowsOfClient } from '../../../../sql/client-rows.ts'
import type { SqlClient } from '../../../../sql/clients.ts'
import { isCertainlyOpen, isTransactionClosed, showsNoState } from '../../../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../../../sql/orms/recognize.ts'
import { isWithoutValues } from '../../../../sql/postgres-errors.ts'
import type { PostgresExecutor } from '../../../../sql/postgres-executor.ts'
import { oneTextPerShape, type SentValue } from '../../../../sql/postgres-values.ts'
import { inOpenTransaction, LEAVE_SETTING, transactionSql } from '../../../../sql/transaction-question.ts'
import { isInTransaction, serverStatus, untilStateIsKnown } from '../../../../sql/transaction-state.ts'
import { MAX_TIME } from '../../../store/stored-values.ts'
import { wrongDatabase } from '../../checks.ts'
import { InboxStoreError, InboxTransactionError } from '../../errors.ts'
import type { MarkResult, NewMark } from '../store.ts'
import { explainInTransaction } from './schema.ts'

interface MarkShape {
	readonly rejectsConflict: boolean
	/** Writes nothing outside a transaction. */
	readonly isConditional: boolean
}

/** Separates the parts of what is hashed. */
const LOCK =
	"pg_try_advisory_xact_lock(hashtextextended('yaoki inbox {s}' || E'\\x1f' || $1::text || E'\\x1f' || $2::text, 0))"

/** $4: retention. */
const WRITE = `
insert into {s}.inbox (inbox, message_id, token, processed_at, expires_at)
select $1::text, $2::text, $3::bigint, clock.ms, least(clock.ms + $4::bigint, ${MAX_TIME})
from (select {now} as ms) clock`

const UNLESS_MARKED = `
on conflict do nothing`

const RETURNING = ' returning 1 as marked'

/** Returns one row: whether a transaction is open, whether the message is free, whether the mark was written. */
const markSql = oneTextPerShape(({ rejectsConflict, isConditional }: MarkShape): string => {
	const open = isConditional ? '(select is_open from transaction)' : 'true'
	return `
with${isConditional ? transactionSql('$5', '$6') : ''}
turn as materialized (select ${rejectsConflict ? `case when ${open} then ${LOCK} end` : open} as is_mine),
written as (${WRITE} cross join turn where turn.is_mine${UNLESS_MARKED}${RETURNING}
)
select ${open} as "isOpen", turn.is_mine as "isMine", exists (select from written) as "isMarked" from turn`
})

const ROW_IF_MARKED = `${WRITE}${UNLESS_MARKED}${RETURNING}`
/** `pg` says how many rows were written. Reading a returned row would cost the receiver as much as the insert itself. */
const COUNT_IF_MARKED = `${WRITE}${UNLESS_MARKED}`

interface MarkRow {
	readonly isOpen: boolean
	readonly isMine: boolean | null
	readonly isMarked: boolean
}

/** Runs a statement in the user's transaction. */
interface InTransaction {
	rows<Row>(sql: string, values: readonly SentValue[]): Promise<readonly Row[]>
	/** Returns how many rows a statement has written that returns none. Undefined unless the client is one of `pg`. */
	readonly count: ((sql: string, values: readonly SentValue[]) => Promise<number>) | undefined
}

export async function writeMark(
	executor: PostgresExecutor,
	tx: SqlClient,
	mark: NewMark,
): Promise<MarkResult> {
	const isOpen = isCertainlyOpen(tx)
	if (isOpen === false) return 'outside-transaction'
	const run = inTransaction(executor, tx)
	const result = await (isOpen ? markInOpen(run, mark) : markIfOpen(run, mark, showsNoState(tx)))
	return result === 'marked' && (await hasEnded(tx)) ? 'ended' : result
}

async function markInOpen(run: InTransaction, mark: NewMark): Promise<MarkResult> {
	const { rejectsConflict } = mark
	const values = valuesOf(mark)
	if (rejectsConflict) {
		const [row] = await run.rows<MarkRow>(markSql({ rejectsConflict, isConditional: false }), values)
		return toResult(row)
	}
	// The most common case, as a plain insert.
	const written = run.count
		? await run.count(COUNT_IF_MARKED, values)
		: (await run.rows(ROW_IF_MARKED, values)).length
	return written > 0 ? 'marked' : 'duplicate'
}

/**
 * `asksFirst`: the mark is never written by the first statement. If the call is not awaited, the COMMIT comes
 * between the two, and nothing would show later that it came before the function of the message.
 */
async function markIfOpen(run: InTransaction, mark: NewMark, asksFirst: boolean): Promise<MarkResult> {
	const sql = markSql({ rejectsConflict: mark.rejectsConflict, isConditional: true })
	const setting = `inbox ${mark.token}`
	const write = async (expected: string): Promise<MarkRow | undefined> => {
		const [row] = await run.rows<MarkRow>(sql, [...valuesOf(mark), expected, setting])
		return row?.isOpen ? row : undefined
	}
	if (asksFirst) await run.rows(LEAVE_SETTING, [setting])
	const found = await (asksFirst ? write(setting) : inOpenTransaction(setting, write))
	return found ? toResult(found) : 'outside-transaction'
}

function toResult(row: MarkRow | undefined): MarkResult {
	if (row?.isMarked) return 'marked'
	return row?.isMine ? 'duplicate' : 'conflict'
}

const valuesOf = ({ inbox, messageId, token, retentionMs }: NewMark): SentValue[] => [
	inbox,
	messageId,
	token,
	Math.min(Math.ceil(retentionMs), MAX_TIME),
]

/** Returns true if the transaction has ended since the mark was written, because its owner did not wait for `once`. */
async function hasEnded(tx: SqlClient): Promise<boolean> {
	await untilStateIsKnown(tx)
	return isInTransaction(tx) === false
}

/**
 * Waits in the unique index until a transaction with a mark of the message has ended: an ORM says that its
 * transaction has ended while the COMMIT is on its way, and a mark that is not committed yet cannot be removed.
 */
export const AWAIT_MARK = `
insert into {s}.inbox (inbox, message_id, token, processed_at, expires_at) values ($1::text, $2::text, $3::bigint, 0, 0)
on conflict do nothing returning 1 as written`

/** $3: token. */
export const UNMARK = `
delete from {s}.inbox where inbox = $1::text and message_id = $2::text and token = $3::bigint`

export const unmarkValues = ({ inbox, messageId, token }: NewMark): (string | number)[] => [
	inbox,
	messageId,
	token,
]

function inTransaction(executor: PostgresExecutor, tx: SqlClient): InTransaction {
	const send = async (sql: string, values: readonly SentValue[]): Promise<unknown> => {
		try {
			return await executor.runIn(tx, sql, values)
		} catch (error) {
			checkTx(tx, error)
			throw explainInTransaction(error)
		}
	}
	return {
		rows: async (sql, values) => rowsOfClient(await send(sql, values), unreadable),
		count:
			serverStatus(tx) !== undefined
				? async (sql, values) => countOfClient(await send(sql, values), unreadable)
				: undefined,
	}
}

/** Throws if the error means that `tx` cannot be used: its transaction has ended, or it only looks like a client. */
function checkTx(tx: SqlClient, cause: unknown): void {
	if (isTransactionClosed(cause))
		throw new InboxTransactionError('outside-transaction', cause.message, { cause })
	// An ORM's method `query` takes something else than values.
	if (isWithoutValues(cause) && recognizeOrm(tx, 'yaoki/outbox', 'postgres'))
		throw wrongDatabase('postgres', tx, cause)
}

const unreadable = (problem: string, advice: string): InboxStoreError =>
	new InboxStoreError('mark a message in your transaction', problem, `${advice} Roll your transaction back.`)
