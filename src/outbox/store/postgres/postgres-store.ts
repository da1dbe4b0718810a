/**
 * The store on PostgreSQL 13 and later, and on PGlite through the same SQL. Each call is a function in a file beside this one; this class only
 * binds them to the contract.
 */
import { isPGlite, isSqlClient, type PgClient, type Queryable } from '../../../sql/clients.ts'
import { PostgresExecutor } from '../../../sql/postgres-executor.ts'
import type { Migration, Store } from '../store.ts'
import { acquireTokens, changeCircuit, circuits, pause, returnTokens } from './circuits.ts'
import { claim } from './claim.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './dead-letters.ts'
import { dueDestinations, nextDueInMs } from './destination-names.ts'
import { insert } from './insert.ts'
import { channelOf, PgListener } from './listener.ts'
import { find, findPredecessor, list } from './messages.ts'
import { type PostgresStoreOptions, type PostgresStoreSettings, readPostgresOptions } from './options.ts'
import { acquirePermits, heartbeat, relays, removeRelay } from './relays.ts'
import { explainError, migrate, migrationsIn, schemaVersion } from './schema.ts'
import { renew, settle } from './settle.ts'
import { now, stats } from './stats.ts'

const ignoreError = (): void => {}
const onConnect = (client?: unknown): void => {
	;(client as PgClient).on('error', ignoreError)
}

/** An outbox in a PostgreSQL database. */
export class PostgresStore implements Store {
	readonly kind = 'postgres'
	readonly migrations: readonly Migration[]
	readonly #settings: PostgresStoreSettings
	readonly #executor: PostgresExecutor
	readonly #listening = new Set<() => Promise<void>>()

	constructor(options: PostgresStoreOptions) {
		this.#settings = readPostgresOptions(options)
		this.#executor = new PostgresExecutor(this.#settings, explainError)
		this.migrations = migrationsIn(this.#settings.schema)
		// A lost idle connection emits an event, which would end the process without a handler. The next query reports the error.
		const { client } = this.#settings
		if (isPGlite(client)) return
		client.on('error', ignoreError)
		// Covers a connection that is lost between connecting and being handed out.
		client.on('connect', onConnect)
	}

	migrate: Store['migrate'] = () => migrate(this.#executor)
	schemaVersion: Store['schemaVersion'] = () => schemaVersion(this.#executor)
	insert: Store['insert'] = (rows, tx) =>
		insert(this.#executor, rows, tx !== undefined && isSqlClient(tx) ? tx : undefined)
	claim: Store['claim'] = (request) => claim(this.#executor, request)
	settle: Store['settle'] = (owner, settlements, keepHistory) =>
		settle(this.#executor, owner, settlements, keepHistory)
	renew: Store['renew'] = (owner, leaseMs, claims) => renew(this.#executor, owner, leaseMs, claims)
	nextDueInMs: Store['nextDueInMs'] = (names) => nextDueInMs(this.#executor, names)
	dueDestinations: Store['dueDestinations'] = (limit, after) => dueDestinations(this.#executor, limit, after)
	dropHistory: Store['dropHistory'] = (olderThanMs, limit) => dropHistory(this.#executor, olderThanMs, limit)

	circuits: Store['circuits'] = (names) => circuits(this.#executor, names)
	changeCircuit: Store['changeCircuit'] = (change) => changeCircuit(this.#executor, change)
	pause: Store['pause'] = (destination, forMs, reason) => pause(this.#executor, destination, forMs, reason)
	acquireTokens: Store['acquireTokens'] = (destination, count, rate) =>
		acquireTokens(this.#executor, destination, count, rate)
	returnTokens: Store['returnTokens'] = (destination, count, rate) =>
		returnTokens(this.#executor, destination, count, rate)
	acquirePermits: Store['acquirePermits'] = (request) => acquirePermits(this.#executor, request)
	heartbeat: Store['heartbeat'] = (report, forgetAfterMs) => heartbeat(this.#executor, report, forgetAfterMs)
	removeRelay: Store['removeRelay'] = (owner) => removeRelay(this.#executor, owner)
	relays: Store['relays'] = () => relays(this.#executor)

	find: Store['find'] = (id) => find(this.#executor, id)
	list: Store['list'] = (filter, limit, after) => list(this.#executor, filter, limit, after)
	deadGroups: Store['deadGroups'] = (filter, limit) => deadGroups(this.#executor, filter, limit)
	countDead: Store['countDead'] = (filter, limit) => countDead(this.#executor, filter, limit)
	replay: Store['replay'] = (filter, limit, edit) => replay(this.#executor, filter, limit, edit)
	discard: Store['discard'] = (filter, limit, keepHistory) =>
		discard(this.#executor, filter, limit, keepHistory)
	retryNow: Store['retryNow'] = (filter, limit) => retryNow(this.#executor, filter, limit)
	findPredecessor: Store['findPredecessor'] = (id) => findPredecessor(this.#executor, id)
	stats: Store['stats'] = (limit, destination) => stats(this.#executor, limit, destination)
	now: Store['now'] = () => now(this.#executor)

	async notify(): Promise<void> {
		await this.#executor.run("select pg_notify($1::text, '')", [channelOf(this.#settings.schema)])
	}

	async listen(onNotify: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const { client, schema, runtime } = this.#settings
		const channel = channelOf(schema)
		let stopListening: () => Promise<void>
		if (isPGlite(client)) stopListening = await client.listen(channel, () => onNotify())
		else {
			const listener = new PgListener(client, channel, runtime, onNotify, onError)
			await listener.start()
			stopListening = async () => listener.stop()
		}
		const stop = async () => {
			if (this.#listening.delete(stop)) await stopListening()
		}
		this.#listening.add(stop)
		return stop
	}

	accepts(tx: Queryable): boolean {
		return isSqlClient(tx)
	}

	async close(): Promise<void> {
		for (const stop of [...this.#listening]) await stop()
		const { client } = this.#settings
		if (isPGlite(client)) return
		client.removeListener('error', ignoreError)
		client.removeListener('connect', onConnect)
	}
}

/**
 * Creates an outbox store in PostgreSQL, through a `pg` pool or a PGlite database.
 *
 * @example
 * const outbox = new Outbox({ store: postgresStore({ client: new pg.Pool({ connectionString }) }) })
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
	return new PostgresStore(options)
}
