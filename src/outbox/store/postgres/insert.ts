/**
 * Inserts messages, usually in the user's transaction: one statement, a text with values, which every client accepts. Several rows are one array per
 * column: a JSON parameter took nearly twice as long, because the payloads, which are JSON, are escaped in JavaScript and unescaped in PostgreSQL.
 * Payloads are separated by a character that JSON never contains, so they need no escapes at all. Only messages with dedupe keys pay for the lookup.
 *
 * Sequence numbers are assigned when rows are written, not when they are committed. So a message with a key first locks destination and key
 * until the transaction ends: the next transaction gets its number after the commit of the previous one. The locks of a batch are sorted, so
 * that two batches never wait for each other.
 *
 * The client object shows whether a transaction is open. PostgreSQL does not: `now() <> statement_timestamp()` is also true outside a transaction,
 * because a statement with parameters is several protocol messages and the first one starts the clock.
 */
import type { SqlClient } from '../../../sql/clients.ts'
import { isMissingObject, isMissingTable } from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor, Value } from '../../../sql/postgres-executor.ts'
import { numberList, textList, uuidList } from '../../../sql/postgres-values.ts'
import { transactionState } from '../../../sql/transaction-state.ts'
import { rowsOfClient } from '../client-rows.ts'
import { takeKeys } from '../dedupe/postgres-keys.ts'
import { SchemaVersionError, StoreError } from '../errors.ts'
import { DEFAULT_DEDUPE_FOR_MS, type InsertOptions } from '../insert-options.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import { MAX_TIME } from '../time-after.ts'
import { NEEDED_VERSION, withHint } from './schema.ts'

const COLUMNS =
	'id, topic, destination, key, payload, headers, dedupe_key, due_at, created_at, expires_at, max_retries'

/** The most common case: due now, so that column defaults set the times. */
const ONE_NOW = `
insert into {s}.outbox (id, topic, destination, key, payload, headers, expires_at, max_retries)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

/** The number of a lock. The schema is part of it: two outboxes in a database do not wait for each other. */
const lockOf = (destination: string, key: string): string =>
	`hashtextextended('{s}' || ${destination} || E'\\x1f' || ${key}, 0)`

/** The time is read after the locks were taken, so that it is in the order of the numbers. */
const oneSql = (from: string): string => `
insert into {s}.outbox (${COLUMNS})
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, null, coalesce($7::bigint, n.ms), n.ms, $8::bigint, $9::int
from (select {now} as ms${from}) n`

const ONE = oneSql('')
const ONE_LOCKED = `with l as materialized (select pg_advisory_xact_lock(${lockOf('$3::text', '$4::text')}))${oneSql(' from l')}`

/** Separates payloads. */
const SEPARATOR = '\x01'

const GIVEN = `unnest($1::uuid[], $2::text[], $3::text[], $4::text[], string_to_array($5::text, E'\\x01'), $6::text[],
	$7::bigint[], $8::bigint[], $9::int[]`
const NAMES = 'id, topic, destination, key, payload, headers, not_before, expires_at, max_retries'

const LOCKS = `
l as materialized (
	select pg_advisory_xact_lock(x.lock) from (
		select distinct ${lockOf('r.destination', 'r.key')} as lock from r where r.key is not null order by 1 offset 0
	) x
),
n as materialized (select {now} as ms from (select count(*) from l) c)`

const NO_LOCKS = `
n as materialized (select {now} as ms)`

const valuesWith = (
	dedupeKey: string,
): string => `r.id, r.topic, r.destination, r.key, r.payload, r.headers, ${dedupeKey},
	coalesce(r.not_before, n.ms), n.ms, r.expires_at, r.max_retries`

const MANY = `
insert into {s}.outbox (${COLUMNS})
select ${valuesWith('null')} from (select {now} as ms) n cross join ${GIVEN}) as r(${NAMES})`

const MANY_LOCKED = `
with r as materialized (select * from ${GIVEN}) with ordinality as r(${NAMES}, at)),${LOCKS}
insert into {s}.outbox (${COLUMNS})
select ${valuesWith('null')} from n cross join r order by r.at`

/** Returns the rows that were skipped, with the id that has their key. */
const dedupedSql = (locks: string): string => `
with r as materialized (select * from ${GIVEN}, $10::text[]) with ordinality as r(${NAMES}, dedupe_key, at)),${locks},${takeKeys('$11::double precision')},
written as (
	insert into {s}.outbox (${COLUMNS})
	select ${valuesWith('r.dedupe_key')} from n cross join r left join holders h on h.dedupe_key = r.dedupe_key
	where r.dedupe_key is null or h.id = r.id order by r.at
)
select r.id::text as id, h.id::text as "by" from r join holders h on h.dedupe_key = r.dedupe_key where h.id <> r.id`

const DEDUPED = dedupedSql(NO_LOCKS)
const DEDUPED_LOCKED = dedupedSql(LOCKS)

export async function insert(
	executor: PostgresExecutor,
	rows: readonly NewRow[],
	tx: SqlClient | undefined,
	{ dedupeForMs = DEFAULT_DEDUPE_FOR_MS, lockKeys = true }: InsertOptions = {},
): Promise<InsertResult> {
	const duplicates = new Map<string, string>()
	const run = runnerFor(executor, tx)
	const isLocked = lockKeys && rows.some(({ key }) => key !== null)
	const [first] = rows
	if (rows.some(({ dedupeKey }) => dedupeKey !== null)) {
		const dedupeKeys = textList(rows.map(({ dedupeKey }) => dedupeKey))
		const values = [...columnsOf(rows), dedupeKeys, Math.min(Math.ceil(dedupeForMs), MAX_TIME)]
		const sql = isLocked ? DEDUPED_LOCKED : DEDUPED
		for (const { id, by } of await run<{ id: string; by: string }>(sql, values)) duplicates.set(id, by)
	} else if (rows.length > 1) await run(isLocked ? MANY_LOCKED : MANY, columnsOf(rows))
	else if (first !== undefined) await insertOne(run, first, isLocked, executor.hasShiftedClock)
	return { duplicates, isInTransaction: tx === undefined ? false : isInTransaction(tx) }
}

const columnsOf = (rows: readonly NewRow[]): Value[] => [
	uuidList(rows.map(({ id }) => id)),
	textList(rows.map(({ topic }) => topic)),
	textList(rows.map(({ destination }) => destination)),
	textList(rows.map(({ key }) => key)),
	rows.map(({ payload }) => payload).join(SEPARATOR),
	textList(rows.map(({ headers }) => headers)),
	numberList(rows.map(({ notBefore }) => notBefore)),
	numberList(rows.map(({ expiresAt }) => expiresAt)),
	numberList(rows.map(({ maxRetries }) => maxRetries)),
]

async function insertOne(run: Run, row: NewRow, isLocked: boolean, hasShiftedClock: boolean): Promise<void> {
	const { id, topic, destination, key, payload, headers, notBefore, expiresAt, maxRetries } = row
	const start = [id, topic, destination, key, payload, headers]
	if (notBefore === null && !isLocked && !hasShiftedClock)
		await run(ONE_NOW, [...start, expiresAt, maxRetries])
	else await run(isLocked ? ONE_LOCKED : ONE, [...start, notBefore, expiresAt, maxRetries])
}

type Run = <Row>(sql: string, values: readonly Value[]) => Promise<readonly Row[]>

/** Does not look up the version in the user's transaction: it may hold the only connection, and after an error it rejects all queries. */
function runnerFor(executor: PostgresExecutor, tx: SqlClient | undefined): Run {
	if (tx === undefined) return (sql, values) => executor.run(sql, values)
	return async (sql, values) => {
		try {
			return rowsOfClient(await executor.runIn(tx, sql, values))
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
