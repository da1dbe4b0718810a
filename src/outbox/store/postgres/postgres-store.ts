/**
 * The store on PostgreSQL 13 and later, and on PGlite through the same SQL. The files beside this one contain
 * the operations, this one binds them to a database.
 */
import { checkNames, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { isPGlite, isSqlClient, type PGliteLike, type PgPool } from '../../../sql/clients.ts'
import { ignorePoolErrors } from '../../../sql/pool.ts'
import { PostgresExecutor, type PostgresSettings } from '../../../sql/postgres-executor.ts'
import {
	checkIsNotPool,
	POSTGRES_CLIENT_OPTIONS,
	readPostgresSettings,
} from '../../../sql/postgres-options.ts'
import { MAX_INT } from '../../../sql/postgres-values.ts'
import type { OutboxStore } from '../store.ts'
import { attemptOperations } from './attempts.ts'
import { circuitOperations } from './circuits.ts'
import { claim } from './claim.ts'
import { deadLetterOperations } from './dead-letters.ts'
import { dropDedupeKeys } from './dedupe-keys.ts'
import { dueOperations } from './due.ts'
import { endpointOperations } from './endpoints.ts'
import { eventOperations } from './events.ts'
import { insert } from './insert.ts'
import { KeyBounds } from './key-bounds.ts'
import { channelOf, PgListener } from './listener.ts'
import { messageOperations } from './messages.ts'
import { relayOperations } from './relays.ts'
import { resendOperations } from './resend.ts'
import { explainError, migrate, migrationsIn, schemaVersion } from './schema.ts'
import { settleOperations } from './settle.ts'
import { statsOperations } from './stats.ts'

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

interface PostgresStoreSettings extends PostgresSettings {
	readonly runtime: Runtime
	readonly claimTimeoutMs: number
}

/** Shorter than a relay waits for its store, so that the server ends a claim before the relay tries again. */
const DEFAULT_CLAIM_TIMEOUT_MS = 10_000

const OPTIONS: OptionSchema = {
	...POSTGRES_CLIENT_OPTIONS,
	claimTimeoutMs: [1, MAX_INT, DEFAULT_CLAIM_TIMEOUT_MS],
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

/** The outbox store that `postgresOutboxStore` returns. Pass it as `store` to `new Outbox`. */
export interface PostgresOutboxStore extends OutboxStore {
	readonly kind: 'postgres'
}

/**
 * Creates an outbox store in PostgreSQL, through a `Pool` of `pg` (not a `Client`) or a PGlite database. Pass
 * it to `new Outbox`, and create its tables with `await outbox.migrate()`.
 *
 * @example
 * import { Pool } from 'pg'
 *
 * const outbox = new Outbox({ store: postgresOutboxStore({ client: new Pool({ connectionString }) }) })
 */
export function postgresOutboxStore(options: PostgresOutboxStoreOptions): PostgresOutboxStore {
	const settings = readPostgresOptions(options)
	const { client, schema, runtime } = settings
	const executor = new PostgresExecutor(settings, explainError)
	const claiming = {
		executor: executor.bounded,
		bounds: new KeyBounds(),
		runtime,
		timeoutMs: settings.claimTimeoutMs,
	}
	const channel = channelOf(schema)
	const stops = new Set<() => Promise<void>>()
	ignorePoolErrors(client)
	return {
		kind: 'postgres',
		accepts: isSqlClient,
		migrations: migrationsIn(schema),
		migrate: () => migrate(executor),
		schemaVersion: () => schemaVersion(executor),
		insert: (rows, tx, options) =>
			insert(executor, rows, tx !== undefined && isSqlClient(tx) ? tx : undefined, options),
		dropDedupeKeys: (limit) => dropDedupeKeys(executor, limit),
		claim: (request) => claim(claiming, request),
		...dueOperations(claiming),
		...settleOperations(executor.bounded),
		...circuitOperations(executor.bounded),
		...relayOperations(executor.bounded),
		...deadLetterOperations(executor),
		...resendOperations(executor),
		...attemptOperations(executor),
		...messageOperations(executor),
		...statsOperations(executor),
		endpoints: { ...endpointOperations(executor), ...eventOperations(executor) },
		async notify() {
			await executor.run("select pg_notify($1::text, '')", [channel])
		},
		async listen(onNotify, onError) {
			let stopListening: () => Promise<void>
			if (isPGlite(client)) stopListening = await client.listen(channel, () => onNotify())
			else {
				const listener = new PgListener({ pool: client, channel, runtime, onNotify, onError })
				await listener.start()
				stopListening = async () => listener.stop()
			}
			const stop = async () => {
				if (stops.delete(stop)) await stopListening()
			}
			stops.add(stop)
			return stop
		},
		async close() {
			for (const stop of [...stops]) await stop()
		},
	}
}
