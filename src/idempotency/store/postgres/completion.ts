/**
 * Stores the response of a key: by itself, or in a transaction that the user has opened. Most clients show whether
 * a transaction is open. Behind an ORM only PostgreSQL knows, so the statement itself asks, as an insert into the
 * outbox does: it writes only if the transaction has an id, or has a setting that lasts until its end.
 */
import { InvalidOptionError } from '../../../core/errors/errors.ts'
import { rowsOfClient } from '../../../sql/client-rows.ts'
import type { SqlClient } from '../../../sql/clients.ts'
import { isOrmTransaction, isTransactionClosed } from '../../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../../sql/orms/recognize.ts'
import {
	isMissingTable,
	isWithoutValues,
	plainReadOnlyError,
	postgresHint,
} from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { SentValue } from '../../../sql/postgres-values.ts'
import { neededVersion } from '../../../sql/schema/migration.ts'
import { LEAVE_SETTING } from '../../../sql/transaction-question.ts'
import { encodeResponse, wholeMs } from '../encoded.ts'
import { IdempotencySchemaError, IdempotencyStoreError } from '../errors.ts'
import { outsideTransactionError } from '../sql-store.ts'
import type { IdempotencyClaimRef, StoredResponse } from '../store.ts'
import { IDEMPOTENCY_TABLES } from './schema.ts'

/** The claim of the parameters $1 and $2 still holds the key. */
export const HELD = "where id = $1::text and token = $2::text and state = 'running' and expires_at > {now}"

/** Steps are of no use after the response. */
export const completion = (where: string, at: number): string => `
update {s}.idempotency_keys set
	state = case when $${at}::int is null then 'unstored' else 'completed' end,
	status = $${at}::int, headers = $${at + 1}::text, body = $${at + 2}::bytea, steps = null,
	completed_at = {now}, expires_at = {now} + $${at + 3}::bigint
${where} returning 1`

export const COMPLETE: string = completion(HELD, 3)

/** A transaction that has written has an id. One that has not keeps the setting. */
const isOpen = (setting: string): string =>
	`(select pg_current_xact_id_if_assigned() is not null or current_setting('yaoki.transaction', true) = ${setting}::text)`

const COMPLETE_IF_OPEN = completion(`${HELD} and ${isOpen('$7')}`, 3)
const IS_OPEN = `select 1 where ${isOpen('$1')}`

/** Columns of a completion without a stored response. */
const UNSTORED = [null, null, null] as const

export const completionValues = (
	{ id, token }: IdempotencyClaimRef,
	response: StoredResponse | undefined,
	retentionMs: number,
): SentValue[] => [id, token, ...(response ? encodeResponse(response) : UNSTORED), wholeMs(retentionMs)]

/** Returns true if the response was stored, false if the claim no longer holds the key. */
export async function completeOn(
	executor: PostgresExecutor,
	tx: SqlClient,
	values: readonly SentValue[],
): Promise<boolean> {
	try {
		if (!isOrmTransaction(tx) || !tx.mustAsk) return await returnsRow(executor, tx, COMPLETE, values)
		return await completeIfOpen(executor, tx, values)
	} catch (error) {
		throw explainTxError(tx, error)
	}
}

/** One round trip in a transaction that has written before, which is the usual order. */
async function completeIfOpen(
	executor: PostgresExecutor,
	tx: SqlClient,
	values: readonly SentValue[],
): Promise<boolean> {
	const [, token] = values
	const setting = String(token)
	if (await returnsRow(executor, tx, COMPLETE_IF_OPEN, [...values, setting])) return true
	await returnsRow(executor, tx, LEAVE_SETTING, [setting])
	if (await returnsRow(executor, tx, COMPLETE_IF_OPEN, [...values, setting])) return true
	if (await returnsRow(executor, tx, IS_OPEN, [setting])) return false
	throw outsideTransactionError('a client without an open transaction')
}

const returnsRow = async (
	executor: PostgresExecutor,
	tx: SqlClient,
	sql: string,
	values: readonly SentValue[],
): Promise<boolean> => rowsOfClient(await executor.runIn(tx, sql, values), unreadable).length > 0

const unreadable = (problem: string, advice: string): IdempotencyStoreError =>
	new IdempotencyStoreError(problem, advice)

/** Does not look up the version: after an error the transaction rejects all queries. */
function explainTxError(tx: SqlClient, error: unknown): unknown {
	if (isTransactionClosed(error))
		return outsideTransactionError('the transaction of an ORM that has ended', error)
	// An ORM's method `query` may take no values, or return rows in another shape.
	const isOther = isWithoutValues(error) || error instanceof IdempotencyStoreError
	const orm = isOther ? recognizeOrm(tx, 'yaoki/idempotency', 'postgres') : undefined
	if (orm) return invalidTx(tx, orm.pass, error)
	if (isMissingTable(error)) return new IdempotencySchemaError(0, neededVersion(IDEMPOTENCY_TABLES))
	const hint = postgresHint(error)
	return hint === undefined ? error : new IdempotencyStoreError(plainReadOnlyError(error, 'UPDATE'), hint)
}

const invalidTx = (tx: SqlClient, pass: string, cause: unknown): InvalidOptionError =>
	new InvalidOptionError('tx', tx, pass, undefined, { cause })
