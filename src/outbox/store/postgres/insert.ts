/**
 * Inserts messages, usually in the user's transaction: one statement, a text with values, which every client
 * accepts. The rows are one array per column: a JSON parameter took nearly twice as long, because the payloads,
 * which are JSON, are escaped in JavaScript and unescaped in PostgreSQL. Payloads are separated by a character
 * that JSON never contains, so they need no escapes at all. `insertSql` composes the text from the parts that the
 * messages need. Decision 0048 says which other texts exist, and why.
 *
 * Sequence numbers are assigned when rows are written, not when they are committed. So a message with a key
 * first locks destination and key until the transaction ends: the next transaction gets its number after the
 * commit of the previous one.
 *
 * Most client objects show whether a transaction is open. Behind others only PostgreSQL knows, and the statement
 * asks it (transaction-question.ts).
 */
import { rowsOfClient } from '../../../sql/client-rows.ts'
import type { SqlClient } from '../../../sql/clients.ts'
import { isCertainlyOpen, isTransactionClosed } from '../../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../../sql/orms/recognize.ts'
import {
	isMissingObject,
	isMissingTable,
	isWithoutValues,
	plainReadOnlyError,
} from '../../../sql/postgres-errors.ts'
import type { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import { numberList, oneTextPerShape, textList, uuidList, type Value } from '../../../sql/postgres-values.ts'
import { inOpenTransaction, transactionSql } from '../../../sql/transaction-question.ts'
import { isInTransaction } from '../../../sql/transaction-state.ts'
import { OutboxTransactionError, show } from '../../message/errors.ts'
import { OutboxSchemaError, OutboxStoreError } from '../errors.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import type { InsertOptions } from '../store.ts'
import { DEFAULT_DEDUPE_FOR_MS, MAX_TIME } from '../stored-values.ts'
import { TAKE_DEDUPE_KEYS } from './dedupe-keys.ts'
import { NEEDED_VERSION, withHint } from './schema.ts'

/** The most common case: one message that is due now and has no key. Column defaults set the times. */
const ONE_NOW = `
insert into {s}.outbox (id, topic, destination, key, payload, headers, expires_at, max_retries)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

/** Which parts another text has. */
interface InsertShape {
	/** One message, different messages, or one message for several destinations. */
	readonly source: 'one' | 'batch' | 'fan-out'
	/** Locks the keys of the messages. Claims then need not expect earlier messages of a key to appear: `in_order`. */
	readonly locksKeys: boolean
	readonly hasDedupeKeys: boolean
	/** Writes nothing outside a transaction. In a transaction, returns one row more, without id. */
	readonly isConditional: boolean
}

const ONE = `
	select $1::uuid as id, $2::text as topic, $3::text as destination, $4::text as key, $5::text as payload, $6::text as headers,
		$7::bigint as not_before, $8::bigint as expires_at, $9::int as max_retries, $10::text as dedupe_key, 1 as position`

/** Separates payloads. */
const SEPARATOR = '\x01'

const BATCH = `
	select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], string_to_array($5::text, E'\\x01'), $6::text[],
		$7::bigint[], $8::bigint[], $9::int[], $10::text[]) with ordinality
	as given(id, topic, destination, key, payload, headers, not_before, expires_at, max_retries, dedupe_key, position)`

/** What the rows have in common is sent once: a fan-out of a large payload is not larger than the payload. */
const FAN_OUT = `
	select given.id, $2::text as topic, given.destination, $4::text as key, $5::text as payload, $6::text as headers,
		$7::bigint as not_before, $8::bigint as expires_at, $9::int as max_retries, given.dedupe_key, given.position
	from unnest($1::uuid[], $3::text[], $10::text[]) with ordinality as given(id, destination, dedupe_key, position)`

const SOURCES = { one: ONE, batch: BATCH, 'fan-out': FAN_OUT } as const

/** The number of groups of keys, and of keys that a statement locks one by one. */
const MAX_LOCKS = 64

/** The schema is part of the locks: two outboxes in a database do not wait for each other. */
const KEY_LOCK = "hashtextextended('{s}' || given.destination || E'\\x1f' || given.key, 0)"

/** Two numbers instead of one: PostgreSQL keeps such locks apart from the locks of keys. */
const groupLock = (lock: string): string => `hashtext('yaoki outbox {s}'), (${lock} & ${MAX_LOCKS - 1})::int`

const LOCK_ONE_KEY = `
key_lock as materialized (select ${KEY_LOCK} as lock from given),
locked_group as materialized (select lock, pg_advisory_xact_lock_shared(${groupLock('lock')}) from key_lock),
locked as materialized (select pg_advisory_xact_lock(lock) from locked_group),`

/**
 * Locks destination and key of the messages until the transaction ends. `locked` is one row, which exists when all
 * locks are held. Advisory locks need no row, and do not fail at REPEATABLE READ as the update of a row that
 * another transaction has changed would.
 *
 * PostgreSQL has room for about 64 locks per connection, for all connections together, and fails when it is
 * full. So a batch with more keys locks groups of keys instead, which excludes all keys of a group: every
 * message locks its group too, shared.
 *
 * All statements lock groups first and then keys, each in ascending order, so that two of them never wait for
 * each other. `offset 0` keeps the planner from locking before it sorts.
 */
const LOCK_KEYS = `
key_locks as materialized (select distinct ${KEY_LOCK} as lock from given where given.key is not null),
batch as materialized (select count(*) > ${MAX_LOCKS} as is_large from key_locks),
locked_groups as materialized (
	select case when batch.is_large then pg_advisory_xact_lock(${groupLock('lock')}) else pg_advisory_xact_lock_shared(${groupLock('lock')}) end
	from batch cross join (select distinct key_locks.lock & ${MAX_LOCKS - 1} as lock from key_locks order by 1 offset 0) sorted_groups
),
locked_keys as materialized (
	select pg_advisory_xact_lock(sorted_keys.lock) from (select count(*) from locked_groups) all_groups cross join lateral (
		select key_locks.lock from key_locks cross join batch
		where not batch.is_large and all_groups.count > 0 order by key_locks.lock offset 0
	) sorted_keys
),
locked as materialized (select count(*) from locked_keys),`

const WRITE = `
insert into {s}.outbox
	(id, topic, destination, key, payload, headers, dedupe_key, due_at, created_at, expires_at, max_retries, in_order)
select given.id, given.topic, given.destination, given.key, given.payload, given.headers, given.dedupe_key,
	coalesce(given.not_before, clock.ms), clock.ms, given.expires_at, given.max_retries`

const WITHOUT_DUPLICATES = `
	left join holders on holders.dedupe_key = given.dedupe_key where given.dedupe_key is null or holders.id = given.id`

const DUPLICATES = `
select given.id::text as id, holders.id::text as "by" from given join holders on holders.dedupe_key = given.dedupe_key
where holders.id <> given.id`

const IS_OPEN = `
select null::text as id, null::text as "by" from transaction where is_open`

/**
 * Returns a text that writes the messages and returns the skipped ones, with the id of the message that has their
 * dedupe key.
 *
 * `given`: the messages. Everything depends on it, so it is empty if nothing may be written.
 * `clock`: the time. It is read after the locks were taken, so that it is in the order of the sequence numbers.
 * `written`: the insert. If nothing is returned, it is the statement itself, which is a tenth faster for a batch.
 */
const insertSql = oneTextPerShape((shape: InsertShape): string => {
	const { locksKeys, hasDedupeKeys, isConditional } = shape
	const source = SOURCES[shape.source]
	const isOne = shape.source === 'one'
	const locks = isOne ? LOCK_ONE_KEY : LOCK_KEYS
	// Values of one message can be repeated in the text; arrays are read once.
	const isRepeated = isConditional || (!isOne && (locksKeys || hasDedupeKeys))
	const start = `
with${isConditional ? transactionSql('$12', '$13') : ''}
given as ${isRepeated ? '' : 'not '}materialized (${
		isConditional ? `select * from (${source}) given where (select is_open from transaction)` : source
	}
),${locksKeys ? locks : ''}
clock as materialized (select {now} as ms, $11::double precision as dedupe_for_ms${locksKeys ? ' from locked' : ''})`
	const write = `${WRITE}, ${locksKeys}
from clock cross join given${hasDedupeKeys ? WITHOUT_DUPLICATES : ''}${isRepeated ? ' order by given.position' : ''}`
	const results = [...(hasDedupeKeys ? [DUPLICATES] : []), ...(isConditional ? [IS_OPEN] : [])]
	if (results.length === 0) return `${start}${write}`
	return `${start},${hasDedupeKeys ? TAKE_DEDUPE_KEYS : ''}
written as (${write}
)${results.join('\nunion all')}`
})

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
	const isOpen = requiresTransaction && tx !== undefined ? isCertainlyOpen(tx) : true
	const [first] = rows
	if (isOpen === false || first === undefined)
		return { duplicates: new Map(), isInTransaction: isInTransaction(tx) }
	const run = runnerFor(executor, tx)
	const shape: InsertShape = {
		source: sourceOf(rows),
		locksKeys: lockKeys && rows.some(({ key }) => key !== null),
		hasDedupeKeys: rows.some(({ dedupeKey }) => dedupeKey !== null),
		isConditional: isOpen === undefined,
	}
	if (isOneNow(shape, first) && !executor.hasShiftedClock) {
		const { id, topic, destination, key, payload, headers, expiresAt, maxRetries } = first
		await run(ONE_NOW, [id, topic, destination, key, payload, headers, expiresAt, maxRetries])
		return { duplicates: new Map(), isInTransaction: isInTransaction(tx) }
	}
	const values = VALUES[shape.source](rows, first)
	values.push(Math.min(Math.ceil(dedupeForMs), MAX_TIME))
	if (shape.isConditional) return insertIfOpen(run, insertSql(shape), values, first.id)
	const duplicates = duplicatesOf(await run(insertSql(shape), values))
	return { duplicates, isInTransaction: isInTransaction(tx) }
}

const isOneNow = (
	{ source, locksKeys, hasDedupeKeys, isConditional }: InsertShape,
	{ notBefore }: NewRow,
): boolean => source === 'one' && notBefore === null && !locksKeys && !hasDedupeKeys && !isConditional

const duplicatesOf = (skipped: readonly Skipped[]): ReadonlyMap<string, string> =>
	new Map(skipped.flatMap(({ id, by }) => (id !== null && by !== null ? [[id, by]] : [])))

async function insertIfOpen(
	run: Run,
	sql: string,
	values: readonly Value[],
	setting: string,
): Promise<InsertResult> {
	const skipped = await inOpenTransaction(setting, async (expected) => {
		const rows = await run<Skipped>(sql, [...values, expected, setting])
		return rows.some(({ id }) => id === null) ? rows : undefined
	})
	return { duplicates: duplicatesOf(skipped ?? []), isInTransaction: skipped !== undefined }
}

function sourceOf(rows: readonly NewRow[]): InsertShape['source'] {
	const [first, second] = rows
	if (first === undefined || second === undefined) return 'one'
	return rows.every((row) => SHARED.every((name) => row[name] === first[name])) ? 'fan-out' : 'batch'
}

/** What the rows of a fan-out have in common. The payloads of other batches differ in the second row. */
const SHARED = ['payload', 'topic', 'headers', 'key', 'notBefore', 'expiresAt', 'maxRetries'] as const

/** The values of each source, in the order of the columns. */
const VALUES: Readonly<Record<InsertShape['source'], (rows: readonly NewRow[], first: NewRow) => Value[]>> = {
	one: (_, row) => [
		row.id,
		row.topic,
		row.destination,
		row.key,
		row.payload,
		row.headers,
		row.notBefore,
		row.expiresAt,
		row.maxRetries,
		row.dedupeKey,
	],
	batch: (rows) => [
		uuidList(rows.map(({ id }) => id)),
		textList(rows.map(({ topic }) => topic)),
		textList(rows.map(({ destination }) => destination)),
		textList(rows.map(({ key }) => key)),
		rows.map(({ payload }) => payload).join(SEPARATOR),
		textList(rows.map(({ headers }) => headers)),
		numberList(rows.map(({ notBefore }) => notBefore)),
		numberList(rows.map(({ expiresAt }) => expiresAt)),
		numberList(rows.map(({ maxRetries }) => maxRetries)),
		textList(rows.map(({ dedupeKey }) => dedupeKey)),
	],
	'fan-out': (rows, first) => [
		uuidList(rows.map(({ id }) => id)),
		first.topic,
		textList(rows.map(({ destination }) => destination)),
		first.key,
		first.payload,
		first.headers,
		first.notBefore,
		first.expiresAt,
		first.maxRetries,
		textList(rows.map(({ dedupeKey }) => dedupeKey)),
	],
}

/** Does not look up the version in the user's transaction: it may hold the only connection, and after an error it rejects all queries. */
export function runnerFor(executor: PostgresExecutor, tx: SqlClient | undefined): Run {
	if (tx === undefined) return (sql, values) => executor.run(sql, values)
	return async (sql, values) => {
		try {
			return rowsOfClient(await executor.runIn(tx, sql, values), unreadable)
		} catch (error) {
			checkTx(tx, error)
			if (isMissingTable(error)) throw new OutboxSchemaError(0, NEEDED_VERSION)
			if (!isMissingObject(error)) throw withHint(plainReadOnlyError(error, 'INSERT'))
			throw new OutboxStoreError(
				'enqueue',
				error,
				'The outbox tables may have another version. Run outbox.migrate().',
			)
		}
	}
}

/** Throws if the error means that `tx` cannot be used: its transaction has ended, or it only looks like a client. */
function checkTx(tx: SqlClient, cause: unknown): void {
	if (isTransactionClosed(cause))
		throw new OutboxTransactionError('outside-transaction', cause.message, { cause })
	// An ORM's method `query` takes something else than values.
	const orm = isWithoutValues(cause) ? recognizeOrm(tx, 'yaoki/outbox', 'postgres') : undefined
	if (orm === undefined) return
	const text = `Invalid tx for an outbox with the store postgres: got ${show(tx)} of ${orm.name}. Pass ${orm.pass}`
	throw new OutboxTransactionError('wrong-database', text, { cause })
}

const unreadable = (problem: string, advice: string): OutboxStoreError =>
	new OutboxStoreError(
		'enqueue in your transaction',
		problem,
		`${advice} The message may have been written, so roll your transaction back.`,
	)
