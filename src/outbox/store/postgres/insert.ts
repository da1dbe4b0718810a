/**
 * Writing messages, mostly in somebody else's transaction: one statement, and nothing is asked of the connection but a text with
 * values. Many go in as one JSON parameter, the fastest form that was measured. Only messages with dedupe keys pay for looking
 * whether they are known.
 *
 * Whether a transaction is open is read off the client. PostgreSQL itself does not tell: `now() <> statement_timestamp()` is true
 * outside of one as well, since a statement with parameters comes as several messages of which the first starts the clock.
 */
import { transactionState } from '../../notify/transaction-state.ts'
import { SchemaVersionError, StoreError } from '../errors.ts'
import type { SqlClient } from '../queryable.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import type { Database, Value } from './connection.ts'
import { explained, isMissingObject, isMissingTable } from './faults.ts'
import { asJson } from './rows.ts'
import { NEEDED_VERSION } from './schema.ts'

const COLUMNS =
	'id, topic, destination, key, payload, headers, dedupe_key, due_at, created_at, expires_at, max_retries'

/** The most common of all: due now, and no time is written down here, for the columns know it by themselves. */
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

/** Answers those that were not written, with who has their key. Nobody, when that one was committed after this statement began. */
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

/** How often it is tried again when whoever had the key is gone as soon as it is looked for. */
const MOST_ROUNDS = 5

export async function insert(
	database: Database,
	rows: readonly NewRow[],
	tx: SqlClient | undefined,
): Promise<InsertResult> {
	const duplicates = new Map<string, string>()
	const run = runner(database, tx)
	let left = rows
	if (rows.length > 0 && rows.every((row) => row.dedupeKey === null)) {
		await writeFresh(run, rows, database.hasOwnTime)
		left = []
	}
	for (let round = 1; left.length > 0; round++) {
		const unwritten = await run<{ id: string; by: string | null }>(DEDUPED, [asJson(left)])
		const vague = new Set<string>()
		for (const { id, by } of unwritten) {
			if (by === null) vague.add(id)
			else duplicates.set(id, by)
		}
		left = left.filter(({ id }) => vague.has(id))
		if (round === MOST_ROUNDS && left.length > 0) {
			throw new StoreError(
				'enqueuing',
				`dedupe key '${left[0]?.dedupeKey}' was taken and freed again and again`,
			)
		}
	}
	return { duplicates, isInTransaction: tx === undefined ? false : isOpen(tx) }
}

type Run = <Row>(sql: string, values: readonly Value[]) => Promise<readonly Row[]>

async function writeFresh(run: Run, rows: readonly NewRow[], hasOwnTime: boolean): Promise<void> {
	const [row] = rows
	if (row === undefined) return
	const { id, topic, destination, key, payload, headers, notBefore, expiresAt, maxRetries } = row
	const start = [id, topic, destination, key, payload, headers]
	if (rows.length > 1) await run(MANY, [asJson(rows)])
	else if (notBefore === null && !hasOwnTime) await run(ONE_NOW, [...start, expiresAt, maxRetries])
	else await run(ONE, [...start, notBefore, expiresAt, maxRetries])
}

/** In a user's transaction the version is not looked up: it may hold the only connection, and after an error it answers nothing. */
function runner(database: Database, tx: SqlClient | undefined): Run {
	if (tx === undefined) return (sql, values) => database.run(sql, values)
	return async (sql, values) => {
		try {
			return await database.within(tx, sql, values)
		} catch (error) {
			if (isMissingTable(error)) throw new SchemaVersionError(0, NEEDED_VERSION)
			if (!isMissingObject(error)) throw explained(error)
			throw new StoreError(
				'enqueuing',
				error,
				"the outbox's tables may be of another version; run outbox.migrate()",
			)
		}
	}
}

/** Undefined when it can not be told. */
function isOpen(tx: SqlClient): boolean | undefined {
	const { rollback, transaction } = tx as { rollback?: unknown; transaction?: unknown }
	// A transaction of PGlite is an object of its own.
	if (typeof rollback === 'function' && transaction === undefined) return true
	const state = transactionState(tx)
	return state === 'unknown' ? undefined : state === 'open'
}
