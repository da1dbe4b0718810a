/**
 * The store on PostgreSQL 13 and later, and on PGlite through the same SQL. The files beside this one contain
 * the operations, this one binds them to a database.
 */
import { isPGlite, isSqlClient } from '../../../sql/clients.ts'
import { ignorePoolErrors } from '../../../sql/pool.ts'
import { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { OutboxStore } from '../store.ts'
import { circuitOperations } from './circuits.ts'
import { claim, claimsOf, hasClaimable } from './claim.ts'
import { deadLetterOperations } from './dead-letters.ts'
import { dropDedupeKeys } from './dedupe-keys.ts'
import { scheduleOperations } from './destination-names.ts'
import { insert } from './insert.ts'
import { KeyBounds } from './key-bounds.ts'
import { channelOf, PgListener } from './listener.ts'
import { messageOperations } from './messages.ts'
import { type PostgresOutboxStoreOptions, readPostgresOptions } from './options.ts'
import { relayOperations } from './relays.ts'
import { explainError, migrate, migrationsIn, schemaVersion } from './schema.ts'
import { settleOperations } from './settle.ts'
import { statsOperations } from './stats.ts'

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
		hasClaimable: (destination, isOrdered, poisonAfter) =>
			hasClaimable(claiming, destination, isOrdered, poisonAfter),
		claimsOf: (owner, destinations) =>
			claimsOf(executor.bounded, owner, destinations, settings.claimTimeoutMs),
		...settleOperations(executor.bounded),
		...scheduleOperations(executor.bounded),
		...circuitOperations(executor.bounded),
		...relayOperations(executor.bounded),
		...deadLetterOperations(executor),
		...messageOperations(executor),
		...statsOperations(executor),
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
