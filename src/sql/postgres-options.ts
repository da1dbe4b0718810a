/** The options that all PostgreSQL stores have. */
import { invalidOption, type OptionSchema } from '../core/options/schema.ts'
import { isPostgresClient, type PGliteLike, type PgPool } from './clients.ts'
import type { PostgresSettings } from './postgres-executor.ts'

export interface PostgresClientOptions {
	readonly client: PgPool | PGliteLike
	readonly schema?: string | undefined
	readonly prepare?: boolean | undefined
	readonly clockOffsetMs?: number | (() => number) | undefined
}

export const POSTGRES_CLIENT_OPTIONS: OptionSchema = {
	client: 'any',
	schema: 'string',
	prepare: 'any',
	clockOffsetMs: 'any',
}

/** Rejects a pool or a URL in the place of the options. */
export function checkIsNotPool(given: unknown): void {
	const isPool = isPostgresClient(given)
	if (isPool || typeof given === 'string')
		invalidOption('options', isPool ? 'a pool' : given, 'an object such as { client: pool }')
}

/** Checks values whose names and types have been checked. */
export function readPostgresSettings(options: PostgresClientOptions): PostgresSettings {
	const { client, schema, prepare = true, clockOffsetMs = 0 } = options
	if (!isPostgresClient(client))
		invalidOption('client', client, 'a Pool of pg (not a Client, not an ORM) or a PGlite database')
	if (typeof prepare !== 'boolean') invalidOption('prepare', prepare, 'a boolean')
	if (typeof clockOffsetMs !== 'function' && !Number.isSafeInteger(clockOffsetMs))
		invalidOption('clockOffsetMs', clockOffsetMs, 'an integer')
	return {
		client,
		schema: readSchemaName(schema),
		prepare,
		warn: (text) => console.warn(text),
		offsetMs: typeof clockOffsetMs === 'function' ? clockOffsetMs : () => clockOffsetMs,
	}
}

const DEFAULT_SCHEMA = 'yaoki'

/** Needs no quotes and leaves room for suffixes. The name becomes part of SQL texts, so nothing else is allowed. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,49}$/

export function readSchemaName(schema: string = DEFAULT_SCHEMA): string {
	if (SCHEMA_NAME.test(schema)) return schema
	return invalidOption(
		'schema',
		schema,
		'at most 50 lower-case letters, digits and underscores that do not start with a digit',
	)
}
