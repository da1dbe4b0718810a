/** The marks of an inbox in PostgreSQL (13 and later) or PGlite, by the same SQL. */
import { checkNames, readOptions } from '../../../../core/options/schema.ts'
import { isSqlClient } from '../../../../sql/clients.ts'
import { ignorePoolErrors } from '../../../../sql/pool.ts'
import { PostgresExecutor } from '../../../../sql/postgres-executor.ts'
import {
	checkIsNotPool,
	POSTGRES_CLIENT_OPTIONS,
	type PostgresClientOptions,
	readPostgresSettings,
} from '../../../../sql/postgres-options.ts'
import { type Big, toNumberOrNull } from '../../../../sql/postgres-values.ts'
import {
	migratePostgres,
	postgresMigrations,
	postgresSchemaVersion,
} from '../../../../sql/schema/postgres-migrations.ts'
import { type InboxStore, type MarkKey, toCapped } from '../store.ts'
import { AWAIT_MARK, UNMARK, unmarkValues, writeMark } from './mark.ts'
import { explainError, INBOX_TABLES } from './schema.ts'

const FIND = `
select processed_at as "processedAt", expires_at as "expiresAt" from {s}.inbox where inbox = $1::text and message_id = $2::text`

const FORGET = `
delete from {s}.inbox where inbox = $1::text and message_id = $2::text returning 1 as deleted`

/** Finds each name by one look into the index: PostgreSQL before 18 would read all marks for `distinct`. */
const NAMES = `
recursive names as (
	(select inbox from {s}.inbox order by inbox limit 1)
	union all
	select (select i.inbox from {s}.inbox i where i.inbox > names.inbox order by i.inbox limit 1) from names where names.inbox is not null
)`

/** The lock ends with the statement. */
const PURGE = `
with ${NAMES}, turn as materialized (
	select case when $2::boolean then pg_try_advisory_xact_lock(hashtext('yaoki inbox purge'), hashtext('{s}')) else true end as is_mine
), clock as materialized (
	select {now} as ms
), expired as materialized (
	select found.ctid from names cross join clock cross join lateral (
		select i.ctid from {s}.inbox i
		where i.inbox = names.inbox and i.expires_at <= clock.ms and (select is_mine from turn)
		order by i.inbox, i.expires_at limit $1::int for update skip locked
	) found limit $1::int
)
delete from {s}.inbox where ctid = any (array (select ctid from expired)) and expires_at <= (select ms from clock) returning 1 as deleted`

const countUpTo = (condition: string): string =>
	`(select count(*)::int from (select from {s}.inbox i where i.inbox = names.inbox${condition} limit $1::int + 1) counted)`

const statsSql = (names: string): string => `
with ${names}, clock as materialized (select {now} as ms)
select names.inbox, ${countUpTo('')} as marks, ${countUpTo(' and i.expires_at <= clock.ms')} as expired,
	clock.ms - (select i.processed_at from {s}.inbox i where i.inbox = names.inbox order by i.inbox, i.expires_at limit 1) as "oldestAgeMs"
from names cross join clock where names.inbox is not null`

const STATS = statsSql(NAMES)
const STATS_OF_ONE = statsSql('names as (select $2::text as inbox)')

/** A nested transaction has ended long before the outer one, whose owner may wait for the mark to be removed. */
const UNMARK_TIMEOUT_MS = 10_000

interface CountRow {
	readonly inbox: string
	readonly marks: number
	readonly expired: number
	readonly oldestAgeMs: Big | null
}

/** Options of `postgresInboxStore`. `client` is required: a `Pool` of `pg`, or a PGlite database. */
export interface PostgresInboxStoreOptions extends PostgresClientOptions {
	/** A `Pool` of `pg`, or a PGlite database. The store never closes it. */
	readonly client: PostgresClientOptions['client']
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
 * Creates a store for an `Inbox` in PostgreSQL, through a `Pool` of `pg` or a PGlite database: the database of
 * your own tables, so that one transaction writes both. Create its table with `await inbox.migrate()`.
 *
 * @example
 * const inbox = new Inbox({ store: postgresInboxStore({ client: pool }) })
 */
export function postgresInboxStore(options: PostgresInboxStoreOptions): InboxStore {
	checkIsNotPool(options)
	checkNames(options, POSTGRES_CLIENT_OPTIONS, 'postgresInboxStore')
	const settings = readPostgresSettings(
		readOptions<PostgresInboxStoreOptions>(options, POSTGRES_CLIENT_OPTIONS),
	)
	const executor = new PostgresExecutor(settings, explainError)
	const { bounded } = executor
	ignorePoolErrors(settings.client)
	const keyOf = ({ inbox, messageId }: MarkKey) => [inbox, messageId]
	return {
		kind: 'postgres',
		isSynchronous: false,
		migrations: postgresMigrations(INBOX_TABLES, settings.schema),
		migrate: () => migratePostgres(executor, INBOX_TABLES),
		schemaVersion: () => postgresSchemaVersion(executor, INBOX_TABLES),
		accepts: isSqlClient,
		mark(tx, mark) {
			if (!isSqlClient(tx)) return 'outside-transaction'
			return writeMark(executor, tx, mark)
		},
		async unmark(tx, mark) {
			const values = unmarkValues(mark)
			if (tx === undefined) {
				const limits = { timeoutMs: UNMARK_TIMEOUT_MS, label: 'inbox unmark' }
				await bounded.run(AWAIT_MARK, values, limits, { sql: UNMARK, values })
			} else if (isSqlClient(tx)) await executor.runOnceIn(tx, UNMARK, values)
		},
		async find(key) {
			const [row] = await bounded.run<{ processedAt: Big; expiresAt: Big }>(FIND, keyOf(key))
			return row && { ...key, processedAt: Number(row.processedAt), expiresAt: Number(row.expiresAt) }
		},
		forget: async (key) => (await bounded.run(FORGET, keyOf(key))).length > 0,
		purge: async (limit, isExclusive = false) => (await bounded.run(PURGE, [limit, isExclusive])).length,
		async stats(limit, inbox) {
			const values = inbox === undefined ? [limit] : [limit, inbox]
			const rows = await bounded.run<CountRow>(inbox === undefined ? STATS : STATS_OF_ONE, values)
			return rows.map(({ inbox: name, marks, expired, oldestAgeMs }) => ({
				inbox: name,
				marks: toCapped(marks, limit),
				expired: toCapped(expired, limit),
				oldestAgeMs: toNumberOrNull(oldestAgeMs),
			}))
		},
		// The pool belongs to the user.
		async close() {},
	}
}
