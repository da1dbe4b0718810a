import { checkNames, readOptions } from '../../../core/options/schema.ts'
import type { PGliteLike, PgPool } from '../../../sql/clients.ts'
import type { PostgresSettings } from '../../../sql/postgres-executor.ts'
import {
	checkIsNotPool,
	POSTGRES_CLIENT_OPTIONS,
	readPostgresSettings,
} from '../../../sql/postgres-options.ts'

/** Options of `postgresIdempotencyStore`. `client` is required: a `Pool` of `pg`, or a PGlite database. */
export interface PostgresIdempotencyStoreOptions<Client extends PgPool | PGliteLike = PgPool | PGliteLike> {
	/** A `Pool` of `pg`, or a PGlite database. The store never closes it. */
	readonly client: Client
	/** Schema of the table: lower-case letters, digits and underscores. Default `'yaoki'`. */
	readonly schema?: string | undefined
	/**
	 * Whether statements are prepared by name. Use false behind poolers that do not support it; otherwise the store
	 * prints a warning when the pooler has lost a statement, and continues without. Default true.
	 */
	readonly prepare?: boolean | undefined
	/** For tests: milliseconds added to the database's clock, an integer. Default 0. */
	readonly clockOffsetMs?: number | (() => number) | undefined
}

/** The transaction that the store of this client passes to `context.transaction`: a `PoolClient` of `pg`, or a `Transaction` of PGlite. */
export type PostgresTransaction<Client> = Client extends {
	// Of two overloads, as in the types of pg, the first.
	connect: { (): Promise<infer Connection>; (...args: never[]): unknown }
}
	? Connection
	: Client extends { connect(): Promise<infer Connection> }
		? Connection
		: Client extends { transaction(work: (tx: infer Tx) => never): unknown }
			? Tx
			: never

export function readPostgresOptions(given: PostgresIdempotencyStoreOptions): PostgresSettings {
	checkIsNotPool(given)
	checkNames(given, POSTGRES_CLIENT_OPTIONS, 'postgresIdempotencyStore')
	return readPostgresSettings(readOptions<PostgresIdempotencyStoreOptions>(given, POSTGRES_CLIENT_OPTIONS))
}
