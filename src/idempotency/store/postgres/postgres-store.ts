/** Keys in PostgreSQL (13 and later) or PGlite, by the same SQL. Every operation is one statement. */

import { checkNames, readOptions } from '../../../core/options/schema.ts'
import {
	isPGlite,
	isSqlClient,
	type PGliteLike,
	type PgPool,
	POSTGRES_TX,
	type SqlClient,
} from '../../../sql/clients.ts'
import { inPgTransaction } from '../../../sql/pg-transaction.ts'
import { ignorePoolErrors } from '../../../sql/pool.ts'
import { PostgresExecutor, type PostgresSettings } from '../../../sql/postgres-executor.ts'
import {
	checkIsNotPool,
	POSTGRES_CLIENT_OPTIONS,
	readPostgresSettings,
} from '../../../sql/postgres-options.ts'
import { type SentValue, withNumbers } from '../../../sql/postgres-values.ts'
import {
	migratePostgres,
	postgresMigrations,
	postgresSchemaVersion,
} from '../../../sql/schema/postgres-migrations.ts'
import { encodeResponse, encodeStep, type KeyColumns, toStoredKey, wholeMs } from '../encoded.ts'
import { checkUserTransaction, type SqlIdempotencyStore } from '../sql-store.ts'
import { claim, RecentIds, repeatedly } from './claim.ts'
import { COMPLETE, completeOn, completion, completionValues, HELD } from './completion.ts'
import { explainError, IDEMPOTENCY_TABLES } from './schema.ts'

/** The store that `postgresIdempotencyStore` returns. Pass it as `store` to `idempotency`. */
export interface PostgresIdempotencyStore<Tx = unknown> extends SqlIdempotencyStore<Tx> {
	readonly kind: 'postgres'
}

const HEARTBEAT = `
update {s}.idempotency_keys set lease_until = {now} + $3::bigint, expires_at = {now} + $3::bigint + (expires_at - lease_until) ${HELD}
returning 1`

const SAVE_STEP = `
update {s}.idempotency_keys set steps = coalesce(steps, '') || $3::text ${HELD} returning 1`

/** One statement that either deletes or updates: a row has steps or it has none. */
const release = (where: string): string => `
with deleted as (
	delete from {s}.idempotency_keys ${where} and steps is null returning 1
), updated as (
	update {s}.idempotency_keys set state = 'released' ${where} and steps is not null returning 1
)
select 1 from deleted union all select 1 from updated`

const RELEASE = release(HELD)

/** The lease of the key has ended without a response, and its retention has not. */
const ABANDONED = "where id = $1::text and state = 'running' and lease_until <= {now} and expires_at > {now}"

const RESOLVE = completion(ABANDONED, 2)
const RERUN = release(ABANDONED)

const DELETE = `
delete from {s}.idempotency_keys
where id = $1::text and expires_at > {now} and ($2::boolean or state <> 'running' or lease_until <= {now}) returning 1`

/** The lock ends with the statement. The time is a subquery, because a condition on an index cannot contain the clock itself. */
export const PURGE = `
with turn as materialized (
	select case when $2::boolean then pg_try_advisory_xact_lock(hashtext('yaoki purge'), hashtext('{s}')) else true end as is_mine
), expired as (
	select ctid from {s}.idempotency_keys where expires_at <= (select {now}) and (select is_mine from turn)
	order by expires_at limit $1::int for update skip locked
)
delete from {s}.idempotency_keys where ctid = any (array (select ctid from expired)) and expires_at <= {now} returning 1`

const FIND = `
select token, state, lease_until - now as "leaseLeftMs", created_at as "createdAt", completed_at as "completedAt",
	expires_at as "expiresAt", status, octet_length(body) as "bodyBytes", steps
from (select {now} as now, * from {s}.idempotency_keys where id = $1::text) k where expires_at > now`

/** Columns that `pg` returns as texts. */
const TIMES = ['leaseLeftMs', 'createdAt', 'completedAt', 'expiresAt'] as const

/**
 * Creates a store of idempotency keys in PostgreSQL, through a `pg` pool or a PGlite database. Create its
 * table with `await store.migrate()`.
 *
 * @example
 * import { Pool } from 'pg'
 *
 * const store = postgresIdempotencyStore({ client: new Pool({ connectionString }) })
 * const engine = idempotency({ name: 'payments', store, principal: ({ raw }) => userOf(raw)?.id })
 */
export function postgresIdempotencyStore<Client extends PgPool | PGliteLike>(
	options: PostgresIdempotencyStoreOptions<Client>,
): PostgresIdempotencyStore<PostgresTransaction<Client>> {
	type Tx = PostgresTransaction<Client>
	const settings = readPostgresOptions(options)
	const { client, schema } = settings
	const executor = new PostgresExecutor(settings, explainError)
	const seen = new RecentIds()
	ignorePoolErrors(client)

	const rows = <Row>(sql: string, values: readonly SentValue[]): Promise<readonly Row[]> =>
		repeatedly(() => executor.runAtAnyLevel<Row>(sql, values))
	const write = async (sql: string, values: readonly SentValue[]): Promise<boolean> =>
		(await rows(sql, values)).length > 0
	return {
		kind: 'postgres',
		migrations: postgresMigrations(IDEMPOTENCY_TABLES, schema),
		migrate: () => migratePostgres(executor, IDEMPOTENCY_TABLES),
		schemaVersion: () => postgresSchemaVersion(executor, IDEMPOTENCY_TABLES),
		claim: (request, call) => claim(executor, seen, request, call),
		heartbeat: ({ id, token }, leaseMs) => write(HEARTBEAT, [id, token, wholeMs(leaseMs)]),
		saveStep: ({ id, token }, name, value) => write(SAVE_STEP, [id, token, encodeStep(name, value)]),
		async complete(ref, response, retentionMs) {
			const isCompleted = await write(COMPLETE, completionValues(ref, response, retentionMs))
			if (isCompleted) seen.add(ref.id)
			return isCompleted
		},
		release: ({ id, token }) => write(RELEASE, [id, token]),
		resolve: (id, response, retentionMs) =>
			response ? write(RESOLVE, [id, ...encodeResponse(response), wholeMs(retentionMs)]) : write(RERUN, [id]),
		delete: (id, isForced = false) => write(DELETE, [id, isForced]),
		async transaction(run) {
			const runIn = (tx: SqlClient) =>
				run(tx as Tx, (ref, response, retentionMs) =>
					completeOn(executor, tx, completionValues(ref, response, retentionMs)),
				)
			if (isPGlite(client)) return client.transaction(runIn)
			return inPgTransaction(client.connect(), 'begin', runIn)
		},
		async completeIn(tx, ref, response, retentionMs) {
			checkUserTransaction(tx, isSqlClient, POSTGRES_TX, 'postgres')
			return completeOn(executor, tx, completionValues(ref, response, retentionMs))
		},
		async purge(limit, isExclusive = false) {
			return (await executor.bounded.run(PURGE, [limit, isExclusive])).length
		},
		async find(id) {
			const [row] = await rows<KeyColumns>(FIND, [id])
			return row && toStoredKey(withNumbers(row, TIMES))
		},
		// The pool belongs to the user.
		async close() {},
	}
}

/** Options of `postgresIdempotencyStore`. `client` is required: a `Pool` of `pg`, or a PGlite database. */
export interface PostgresIdempotencyStoreOptions<Client extends PgPool | PGliteLike = PgPool | PGliteLike> {
	/** A `Pool` of `pg`, or a PGlite database. The store never closes it. */
	readonly client: Client
	/** Schema of the table: lower-case letters, digits and underscores. Default `'yaoki'`. */
	readonly schema?: string | undefined
	/**
	 * Whether statements are prepared by name. Use false behind poolers that do not support it; otherwise the
	 * store prints a warning when the pooler has lost a statement, and continues without. Default true.
	 */
	readonly prepare?: boolean | undefined
	/** For tests: milliseconds added to the database's clock, an integer. Default 0. */
	readonly clockOffsetMs?: number | (() => number) | undefined
}

/**
 * The transaction that the store of this client passes to `context.transaction`: a `PoolClient` of `pg`, or a
 * `Transaction` of PGlite.
 */
export type PostgresTransaction<Client> = Client extends {
	// `connect` of pg has two overloads; this is the first one.
	connect: { (): Promise<infer Connection>; (...args: never[]): unknown }
}
	? Connection
	: Client extends { connect(): Promise<infer Connection> }
		? Connection
		: Client extends { transaction(work: (tx: infer Tx) => never): unknown }
			? Tx
			: never

function readPostgresOptions(given: PostgresIdempotencyStoreOptions): PostgresSettings {
	checkIsNotPool(given)
	checkNames(given, POSTGRES_CLIENT_OPTIONS, 'postgresIdempotencyStore')
	return readPostgresSettings(readOptions<PostgresIdempotencyStoreOptions>(given, POSTGRES_CLIENT_OPTIONS))
}
