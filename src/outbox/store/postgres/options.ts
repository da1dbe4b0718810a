import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { isPostgresClient, type PGliteLike, type PgPool } from '../../../sql/clients.ts'
import type { PostgresSettings } from '../../../sql/postgres-executor.ts'

/** Options of a PostgreSQL store. */
export interface PostgresStoreOptions {
	/** A `Pool` of `pg`, or a PGlite database. The store never closes it. A relay keeps one connection of a pool for LISTEN. */
	readonly client: PgPool | PGliteLike
	/** Schema of the tables: lower-case letters, digits and underscores. Default `'yaoki'`. */
	readonly schema?: string | undefined
	/**
	 * Whether statements are prepared by name. Use false behind poolers that do not support it; otherwise the store
	 * prints a warning when the pooler has lost a statement, and continues without. Default true.
	 */
	readonly prepare?: boolean | undefined
	/** How long a claim may take before the server cancels it; the relay then claims fewer messages. Default 10,000. */
	readonly claimTimeoutMs?: number | undefined
	/** For tests: milliseconds added to the database's clock, an integer. Default 0. */
	readonly clockOffsetMs?: number | (() => number) | undefined
	/** Timers and randomness for reconnecting. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

export interface PostgresStoreSettings extends PostgresSettings {
	readonly runtime: Runtime
	readonly claimTimeoutMs: number
}

/** Shorter than a relay waits for its store, so that the server ends a claim before the relay tries again. */
const DEFAULT_CLAIM_TIMEOUT_MS = 10_000
/** An int of the server. */
const MAX_CLAIM_TIMEOUT_MS = 2 ** 31 - 1

const OPTIONS: OptionSchema = {
	client: 'any',
	schema: 'string',
	prepare: 'any',
	claimTimeoutMs: [1, MAX_CLAIM_TIMEOUT_MS, DEFAULT_CLAIM_TIMEOUT_MS],
	clockOffsetMs: 'any',
	runtime: 'any',
}

const DEFAULT_SCHEMA = 'yaoki'

/** Needs no quotes and leaves room for suffixes. The name becomes part of SQL texts, so nothing else is allowed. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,49}$/

export function readPostgresOptions(given: PostgresStoreOptions): PostgresStoreSettings {
	if (isPostgresClient(given)) invalidOption('options', 'a pool', 'an object such as { client: pool }')
	checkNames(given, OPTIONS)
	const options = readOptions<PostgresStoreOptions & { readonly claimTimeoutMs: number }>(given, OPTIONS)
	const { client, schema = DEFAULT_SCHEMA, prepare = true, clockOffsetMs = 0 } = options
	if (!isPostgresClient(client))
		invalidOption('client', client, 'a Pool of pg (not a Client) or a PGlite database')
	if (!SCHEMA_NAME.test(schema))
		invalidOption(
			'schema',
			schema,
			'at most 50 lower-case letters, digits and underscores that do not start with a digit',
		)
	if (typeof prepare !== 'boolean') invalidOption('prepare', prepare, 'a boolean')
	if (typeof clockOffsetMs !== 'function' && !Number.isSafeInteger(clockOffsetMs))
		invalidOption('clockOffsetMs', clockOffsetMs, 'an integer')
	return {
		client,
		schema,
		prepare,
		warn: (text) => console.warn(text),
		offsetMs: typeof clockOffsetMs === 'function' ? clockOffsetMs : () => clockOffsetMs,
		runtime: options.runtime ?? systemRuntime,
		claimTimeoutMs: options.claimTimeoutMs,
	}
}
