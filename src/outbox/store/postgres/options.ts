import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { isClient, type PGliteLike, type PgPool } from './client.ts'

/** Where the outbox is. */
export interface PostgresStoreOptions {
	/** A `Pool` of `pg`, or a database of PGlite. It stays yours: it is not ended with the store. One connection of a pool is kept for LISTEN. */
	readonly client: PgPool | PGliteLike
	/** The schema that the tables are in: a plain name in lower case. Default `'yaoki'`. */
	readonly schema?: string | undefined
	/** Are statements prepared by name? False for poolers that can not have it. Default true. */
	readonly prepare?: boolean | undefined
	/** For tests only: how far the store's time is ahead of the database's clock, whole milliseconds. Default 0. */
	readonly clockOffsetMs?: number | (() => number) | undefined
	/** Time and chance of this process, for coming back to a lost connection. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

export interface PostgresSettings {
	readonly client: PgPool | PGliteLike
	readonly schema: string
	readonly prepare: boolean
	readonly offsetMs: () => number
	readonly runtime: Runtime
}

const RULES: OptionSchema = {
	client: 'any',
	schema: 'string',
	prepare: 'any',
	clockOffsetMs: 'any',
	runtime: 'any',
}

const DEFAULT_SCHEMA = 'yaoki'

/** A name that needs no quotes, and has room left for what is added to it. It is a part of SQL, so nothing else may get in. */
const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,49}$/

export function readPostgresOptions(given: PostgresStoreOptions): PostgresSettings {
	if (isClient(given))
		invalidOption('options', 'a pool', 'an object with it: postgresStore({ client: pool })')
	checkNames(given, RULES)
	const options = readOptions<PostgresStoreOptions>(given, RULES)
	const { client, schema = DEFAULT_SCHEMA, prepare = true, clockOffsetMs = 0 } = options
	if (!isClient(client))
		invalidOption('client', client, 'a Pool of pg (not a Client), or a database of PGlite')
	if (!PLAIN_NAME.test(schema)) {
		invalidOption('schema', schema, 'a plain name: small letters, digits and _, no digit first, at most 50')
	}
	if (typeof prepare !== 'boolean') invalidOption('prepare', prepare, 'a boolean')
	if (typeof clockOffsetMs !== 'function' && !Number.isSafeInteger(clockOffsetMs)) {
		invalidOption('clockOffsetMs', clockOffsetMs, 'a whole number of milliseconds')
	}
	return {
		client,
		schema,
		prepare,
		offsetMs: typeof clockOffsetMs === 'function' ? clockOffsetMs : () => clockOffsetMs,
		runtime: options.runtime ?? systemRuntime,
	}
}
