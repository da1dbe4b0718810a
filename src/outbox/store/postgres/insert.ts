/**
 * Inserts messages, usually in the user's transaction: one statement, a text with values, which every client accepts. Several rows are one array per
 * column: a JSON parameter took nearly twice as long, because the payloads, which are JSON, are escaped in JavaScript and unescaped in PostgreSQL.
 * Payloads are separated by a character that JSON never contains, so they need no escapes at all. Only messages with dedupe keys pay for the lookup.
 *
 * Sequence numbers are assigned when rows are written, not when they are committed. So a message with a key first locks destination and key
 * until the transaction ends: the next transaction gets its number after the commit of the previous one.
 *
 * Most client objects show whether a transaction is open. Behind others only PostgreSQL knows, and no function of it says so: `now() <>
 * statement_timestamp()` is also true outside a transaction, because a statement with parameters is several protocol messages and the first one
 * starts the clock. But a transaction that has written has an id before this statement writes, so the statement writes only then. Without an
 * id it leaves a setting that lasts until the end of the transaction and is repeated if the setting is still there: a second round trip, only
 * if the message is the first write of its transaction.
 */
import { rowsOfClient } from '../../../sql/client-rows.ts'
import type { SqlClient } from '../../../sql/clients.ts'
import { isMissingObject, isMissingTable } from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor, Value } from '../../../sql/postgres-executor.ts'
import { numberList, textList, uuidList } from '../../../sql/postgres-values.ts'
import { transactionState } from '../../../sql/transaction-state.ts'
import { takeKeys } from '../enqueue/postgres-keys.ts'
import { LOCK_KEYS, lockOne } from '../enqueue/postgres-locks.ts'
import { OutboxSchemaError, OutboxStoreError } from '../errors.ts'
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

/** Claims need not expect earlier messages to appear if the key was locked: `in_order`. */
const LOCKED_COLUMNS = `${COLUMNS}, in_order`

const ONE_VALUES = `$1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, null, coalesce($7::bigint, n.ms), n.ms, $8::bigint, $9::int`

const ONE = `
insert into {s}.outbox (${COLUMNS}) select ${ONE_VALUES} from (select {now} as ms) n`

/** The time is read after the locks were taken, so that it is in the order of the numbers. */
const ONE_LOCKED = `
with ${lockOne('$3::text', '$4::text')}
insert into {s}.outbox (${LOCKED_COLUMNS}) select ${ONE_VALUES}, true from (select {now} as ms from locked) n`

/** Separates payloads. */
const SEPARATOR = '\x01'

const GIVEN = `unnest($1::uuid[], $2::text[], $3::text[], $4::text[], string_to_array($5::text, E'\\x01'), $6::text[],
	$7::bigint[], $8::bigint[], $9::int[]`
const NAMES = 'id, topic, destination, key, payload, headers, not_before, expires_at, max_retries'

const LOCKS = `${LOCK_KEYS},
n as materialized (select {now} as ms from locked)`

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
insert into {s}.outbox (${LOCKED_COLUMNS})
select ${valuesWith('null')}, true from n cross join r order by r.at`

/**
 * What a statement adds that must write nothing outside a transaction: everything depends on `r`, which is empty there. In a transaction it
 * returns a row without id.
 */
interface Condition {
	readonly first: string
	readonly where: string
	readonly last: string
}

const ALWAYS: Condition = { first: '', where: '', last: '' }

/** True in a transaction that has written, or that has the setting $n. Makes $n+1 the setting until the end of the transaction. */
const ifOpen = (n: number): Condition => ({
	first: `
s as materialized (
	select pg_current_xact_id_if_assigned() is not null or current_setting('yaoki.transaction', true) = $${n}::text as is_open,
		set_config('yaoki.transaction', $${n + 1}::text, true) as setting
),`,
	where: ' where (select is_open from s)',
	last: 'select null::text as id, null::text as "by" from s where is_open',
})

const manySql = (locks: string, { first, where, last }: Condition): string => `
with${first} r as materialized (select * from ${GIVEN}) with ordinality as r(${NAMES}, at)${where}),${locks},
written as (
	insert into {s}.outbox (${LOCKED_COLUMNS})
	select ${valuesWith('null')}, ${locks === LOCKS} from n cross join r order by r.at
)
${last}`

const MANY_IF_OPEN = manySql(NO_LOCKS, ifOpen(10))
const MANY_IF_OPEN_LOCKED = manySql(LOCKS, ifOpen(10))

/** Returns the rows that were skipped, with the id that has their key. */
const dedupedSql = (locks: string, { first, where, last }: Condition): string => `
with${first} r as materialized (select * from ${GIVEN}, $10::text[]) with ordinality as r(${NAMES}, dedupe_key, at)${where}),${locks},${takeKeys('$11::double precision')},
written as (
	insert into {s}.outbox (${LOCKED_COLUMNS})
	select ${valuesWith('r.dedupe_key')}, ${locks === LOCKS} from n cross join r left join holders h on h.dedupe_key = r.dedupe_key
	where r.dedupe_key is null or h.id = r.id order by r.at
)
select r.id::text as id, h.id::text as "by" from r join holders h on h.dedupe_key = r.dedupe_key where h.id <> r.id
${last && `union all ${last}`}`

const DEDUPED = dedupedSql(NO_LOCKS, ALWAYS)
const DEDUPED_LOCKED = dedupedSql(LOCKS, ALWAYS)
const DEDUPED_IF_OPEN = dedupedSql(NO_LOCKS, ifOpen(12))
const DEDUPED_IF_OPEN_LOCKED = dedupedSql(LOCKS, ifOpen(12))

type Run = <Row>(sql: string, values: readonly Value[]) => Promise<readonly Row[]>

interface Skipped {
	/** Null in the row that says that a transaction is open. */
	readonly id: string | null
	readonly by: string | null
}

export async function insert(
	executor: PostgresExecutor,
	rows: readonly NewRow[],
	tx: SqlClient | undefined,
	options: InsertOptions = {},
): Promise<InsertResult> {
	const { dedupeForMs = DEFAULT_DEDUPE_FOR_MS, lockKeys = true, requiresTransaction = false } = options
	const duplicates = new Map<string, string>()
	const run = runnerFor(executor, tx)
	const isLocked = lockKeys && rows.some(({ key }) => key !== null)
	const [first] = rows
	const hasDedupeKeys = rows.some(({ dedupeKey }) => dedupeKey !== null)
	const values = (): Value[] => {
		if (!hasDedupeKeys) return columnsOf(rows)
		const dedupeKeys = textList(rows.map(({ dedupeKey }) => dedupeKey))
		return [...columnsOf(rows), dedupeKeys, Math.min(Math.ceil(dedupeForMs), MAX_TIME)]
	}
	if (requiresTransaction && tx !== undefined && first !== undefined) {
		const state = isInTransaction(tx)
		if (state === false) return { duplicates, isInTransaction: false }
		if (state === undefined) {
			const many = isLocked ? MANY_IF_OPEN_LOCKED : MANY_IF_OPEN
			const deduped = isLocked ? DEDUPED_IF_OPEN_LOCKED : DEDUPED_IF_OPEN
			return insertIfOpen(run, hasDedupeKeys ? deduped : many, values(), first.id)
		}
	}
	if (hasDedupeKeys) addDuplicates(duplicates, await run(isLocked ? DEDUPED_LOCKED : DEDUPED, values()))
	else if (rows.length > 1) await run(isLocked ? MANY_LOCKED : MANY, values())
	else if (first !== undefined) await insertOne(run, first, isLocked, executor.hasShiftedClock)
	return { duplicates, isInTransaction: tx === undefined ? false : isInTransaction(tx) }
}

function addDuplicates(duplicates: Map<string, string>, skipped: readonly Skipped[]): void {
	for (const { id, by } of skipped) if (id !== null && by !== null) duplicates.set(id, by)
}

/** The setting of the first try is none that exists. */
async function insertIfOpen(
	run: Run,
	sql: string,
	values: readonly Value[],
	setting: string,
): Promise<InsertResult> {
	const duplicates = new Map<string, string>()
	for (const expected of ['none', setting]) {
		const skipped = await run<Skipped>(sql, [...values, expected, setting])
		if (!skipped.some(({ id }) => id === null)) continue
		addDuplicates(duplicates, skipped)
		return { duplicates, isInTransaction: true }
	}
	return { duplicates, isInTransaction: false }
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

/** Does not look up the version in the user's transaction: it may hold the only connection, and after an error it rejects all queries. */
function runnerFor(executor: PostgresExecutor, tx: SqlClient | undefined): Run {
	if (tx === undefined) return (sql, values) => executor.run(sql, values)
	return async (sql, values) => {
		try {
			return rowsOfClient(await executor.runIn(tx, sql, values), unreadable)
		} catch (error) {
			if (isMissingTable(error)) throw new OutboxSchemaError(0, NEEDED_VERSION)
			if (!isMissingObject(error)) throw withHint(error)
			throw new OutboxStoreError(
				'enqueue',
				error,
				'The outbox tables may have another version. Run outbox.migrate().',
			)
		}
	}
}

const unreadable = (problem: string, advice: string): OutboxStoreError =>
	new OutboxStoreError(
		'enqueue in your transaction',
		problem,
		`${advice} The message may have been written, so roll your transaction back.`,
	)

/** Returns undefined if the client does not expose it. */
function isInTransaction(tx: SqlClient): boolean | undefined {
	const { rollback, transaction } = tx as { rollback?: unknown; transaction?: unknown }
	// A PGlite transaction is an object of its own.
	if (typeof rollback === 'function' && transaction === undefined) return true
	const state = transactionState(tx)
	return state === 'unknown' ? undefined : state === 'open'
}
