/**
 * Inserts messages, usually in the user's transaction: one statement, a text with values, which every client accepts. Several rows are one JSON
 * parameter, the fastest form in measurements. Only messages with dedupe keys pay for the lookup.
 *
 * The client object shows whether a transaction is open. PostgreSQL does not: `now() <> statement_timestamp()` is also true outside a transaction,
 * because a statement with parameters is several protocol messages and the first one starts the clock.
 */
import type { SqlClient } from '../../../sql/clients.ts'
import { isMissingObject, isMissingTable } from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor, Value } from '../../../sql/postgres-executor.ts'
import { transactionState } from '../../../sql/transaction-state.ts'
import { SchemaVersionError, StoreError } from '../errors.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import { NEEDED_VERSION, withHint } from './schema.ts'

const COLUMNS =
	'id, topic, destination, key, payload, headers, dedupe_key, due_at, created_at, expires_at, max_retries'

/** The most common case: due now, so that column defaults set the times. */
const ONE_NOW = `
insert into {s}.outbox (id, topic, destination, key, payload, headers, expires_at, max_retries)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

const ONE = `
insert into {s}.outbox (${COLUMNS})
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, null, coalesce($7::bigint, n.ms), n.ms, $8::bigint, $9::int
from (select {now} as ms) n`

const GIVEN = `json_to_recordset($1::text::json) as r(
	id uuid, topic text, destination text, key text, payload text, headers text, "dedupeKey" text,
	"notBefore" bigint, "expiresAt" bigint, "maxRetries" int)`

const VALUES = `r.id, r.topic, r.destination, r.key, r.payload, r.headers, r."dedupeKey",
	coalesce(r."notBefore", n.ms), n.ms, r."expiresAt", r."maxRetries"`

const MANY = `
insert into {s}.outbox (${COLUMNS})
select ${VALUES} from (select {now} as ms) n cross join ${GIVEN}`

const KNOWN = `
	select k.dedupe_key, k.id from r join {s}.outbox k on k.dedupe_key = r."dedupeKey"
	union all select k.dedupe_key, k.id from r join {s}.outbox_dead k on k.dedupe_key = r."dedupeKey"
	union all select k.dedupe_key, k.id from r join {s}.outbox_history k on k.dedupe_key = r."dedupeKey"`

/** Returns the rows that were skipped, with the id that has their key; null if that one was committed after this statement started. */
const DEDUPED = `
with n as materialized (select {now} as ms),
r as materialized (select * from ${GIVEN}),
known as materialized (${KNOWN}),
written as (
	insert into {s}.outbox (${COLUMNS})
	select ${VALUES} from n cross join r
	where r."dedupeKey" is null or r."dedupeKey" not in (select dedupe_key from known)
	on conflict (dedupe_key) where dedupe_key is not null do nothing
	returning id, dedupe_key
)
select r.id::text as id, (
	select x.id::text from (select * from known union all select dedupe_key, id from written) x
	where x.dedupe_key = r."dedupeKey" limit 1
) as "by"
from r where not exists (select from written w where w.id = r.id)`

/** Attempts for a key whose message is deleted whenever it is looked up. */
const MAX_ROUNDS = 5

export async function insert(
	executor: PostgresExecutor,
	rows: readonly NewRow[],
	tx: SqlClient | undefined,
): Promise<InsertResult> {
	const duplicates = new Map<string, string>()
	const run = runnerFor(executor, tx)
	let left = rows
	if (rows.length > 0 && rows.every((row) => row.dedupeKey === null)) {
		await insertWithoutKeys(run, rows, executor.hasShiftedClock)
		left = []
	}
	for (let round = 1; left.length > 0; round++) {
		const skipped = await run<{ id: string; by: string | null }>(DEDUPED, [JSON.stringify(left)])
		const unknown = new Set<string>()
		for (const { id, by } of skipped) {
			if (by === null) unknown.add(id)
			else duplicates.set(id, by)
		}
		left = left.filter(({ id }) => unknown.has(id))
		if (round === MAX_ROUNDS && left.length > 0)
			throw new StoreError(
				'enqueue',
				`dedupe key '${left[0]?.dedupeKey}' was repeatedly inserted and deleted by other transactions`,
			)
	}
	return { duplicates, isInTransaction: tx === undefined ? false : isInTransaction(tx) }
}

type Run = <Row>(sql: string, values: readonly Value[]) => Promise<readonly Row[]>

async function insertWithoutKeys(run: Run, rows: readonly NewRow[], hasShiftedClock: boolean): Promise<void> {
	const [row] = rows
	if (row === undefined) return
	const { id, topic, destination, key, payload, headers, notBefore, expiresAt, maxRetries } = row
	const start = [id, topic, destination, key, payload, headers]
	if (rows.length > 1) await run(MANY, [JSON.stringify(rows)])
	else if (notBefore === null && !hasShiftedClock) await run(ONE_NOW, [...start, expiresAt, maxRetries])
	else await run(ONE, [...start, notBefore, expiresAt, maxRetries])
}

/** Does not look up the version in the user's transaction: it may hold the only connection, and after an error it rejects all queries. */
function runnerFor(executor: PostgresExecutor, tx: SqlClient | undefined): Run {
	if (tx === undefined) return (sql, values) => executor.run(sql, values)
	return async (sql, values) => {
		try {
			return await executor.runIn(tx, sql, values)
		} catch (error) {
			if (isMissingTable(error)) throw new SchemaVersionError(0, NEEDED_VERSION)
			if (!isMissingObject(error)) throw withHint(error)
			throw new StoreError(
				'enqueue',
				error,
				'The outbox tables may have another version. Run outbox.migrate().',
			)
		}
	}
}

/** Returns undefined if the client does not expose it. */
function isInTransaction(tx: SqlClient): boolean | undefined {
	const { rollback, transaction } = tx as { rollback?: unknown; transaction?: unknown }
	// A PGlite transaction is an object of its own.
	if (typeof rollback === 'function' && transaction === undefined) return true
	const state = transactionState(tx)
	return state === 'unknown' ? undefined : state === 'open'
}
