import { checkNames, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import type { PGliteLike, PgPool } from '../../../sql/clients.ts'
import type { PostgresSettings } from '../../../sql/postgres-executor.ts'
import {
	checkIsNotPool,
	POSTGRES_CLIENT_OPTIONS,
	readPostgresSettings,
} from '../../../sql/postgres-options.ts'

/** Options of `postgresOutboxStore`. `client` is required: a `Pool` of `pg`, or a PGlite database. */
export interface PostgresOutboxStoreOptions {
	/** A `Pool` of `pg`, or a PGlite database. The store never closes it. A relay keeps one connection of a pool for LISTEN. */
	readonly client: PgPool | PGliteLike
	/** Schema of the tables: lower-case letters, digits and underscores. Default `'yaoki'`. */
	readonly schema?: string | undefined
	/**
	 * Whether statements are prepared by name. Use false behind poolers that do not support it; otherwise the
	 * store prints a warning when the pooler has lost a statement, and continues without. Default true.
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
	...POSTGRES_CLIENT_OPTIONS,
	claimTimeoutMs: [1, MAX_CLAIM_TIMEOUT_MS, DEFAULT_CLAIM_TIMEOUT_MS],
	runtime: 'any',
}

export function readPostgresOptions(given: PostgresOutboxStoreOptions): PostgresStoreSettings {
	checkIsNotPool(given)
	checkNames(given, OPTIONS)
	const options = readOptions<PostgresOutboxStoreOptions & { readonly claimTimeoutMs: number }>(
		given,
		OPTIONS,
	)
	return {
		...readPostgresSettings(options),
		runtime: options.runtime ?? systemRuntime,
		claimTimeoutMs: options.claimTimeoutMs,
	}
}
