/**
 * The store on PostgreSQL 13 and later, and on PGlite through the same SQL. Each call is one function of a file beside this one; here
 * they are only put together, under the types that the contract has for them.
 */
import type { Queryable } from '../queryable.ts'
import { isSqlClient } from '../queryable.ts'
import type { Migration, Store } from '../store.ts'
import { claim, destinations, nextDueInMs } from './claim.ts'
import { isPGlite, type PgClient } from './client.ts'
import { Database } from './connection.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './dead-letters.ts'
import { gates, hold, turnGate } from './gates.ts'
import { insert } from './insert.ts'
import { channelOf, PgListener } from './listen.ts'
import { ahead, find, list } from './messages.ts'
import { type PostgresSettings, type PostgresStoreOptions, readPostgresOptions } from './options.ts'
import { acquirePermits, leave } from './permits.ts'
import { beat, relays } from './relays.ts'
import { findVersion, migrate, migrationsIn, NEEDED_VERSION } from './schema.ts'
import { renew, settle } from './settle.ts'
import { now, stats } from './stats.ts'
import { returnTokens, takeTokens } from './tokens.ts'

const unheard = (): void => {}
const hear = (client?: unknown): void => {
	;(client as PgClient).on('error', unheard)
}

/** An outbox in a PostgreSQL. */
export class PostgresStore implements Store {
	readonly kind = 'postgres'
	readonly migrations: readonly Migration[]
	readonly #settings: PostgresSettings
	readonly #database: Database
	readonly #listening = new Set<() => Promise<void>>()

	constructor(options: PostgresStoreOptions) {
		this.#settings = readPostgresOptions(options)
		this.#database = new Database(this.#settings, NEEDED_VERSION, findVersion)
		this.migrations = migrationsIn(this.#settings.schema)
		// An idle connection of the pool that is lost is told by an event, and unheard it would end the process; the next query tells as well.
		const { client } = this.#settings
		if (isPGlite(client)) return
		client.on('error', unheard)
		// One that is lost between being connected and being handed over has no listener for a moment.
		client.on('connect', hear)
	}

	migrate: Store['migrate'] = () => migrate(this.#database)
	schemaVersion: Store['schemaVersion'] = () => findVersion(this.#database)
	insert: Store['insert'] = (rows, tx) =>
		insert(this.#database, rows, tx !== undefined && isSqlClient(tx) ? tx : undefined)
	claim: Store['claim'] = (request) => claim(this.#database, request)
	settle: Store['settle'] = (owner, outcomes, keepHistory) =>
		settle(this.#database, owner, outcomes, keepHistory)
	renew: Store['renew'] = (owner, leaseMs, held) => renew(this.#database, owner, leaseMs, held)
	nextDueInMs: Store['nextDueInMs'] = (names) => nextDueInMs(this.#database, names)
	dueDestinations: Store['dueDestinations'] = (limit, after) => destinations(this.#database, limit, after)
	dropHistory: Store['dropHistory'] = (olderThanMs, limit) => dropHistory(this.#database, olderThanMs, limit)

	circuits: Store['circuits'] = (names) => gates(this.#database, names)
	changeCircuit: Store['changeCircuit'] = (change) => turnGate(this.#database, change)
	pause: Store['pause'] = (destination, forMs, reason) => hold(this.#database, destination, forMs, reason)
	acquireTokens: Store['acquireTokens'] = (destination, count, rate) =>
		takeTokens(this.#database, destination, count, rate)
	returnTokens: Store['returnTokens'] = (destination, count, rate) =>
		returnTokens(this.#database, destination, count, rate)
	acquirePermits: Store['acquirePermits'] = (request) => acquirePermits(this.#database, request)
	heartbeat: Store['heartbeat'] = (report, forgetAfterMs) => beat(this.#database, report, forgetAfterMs)
	removeRelay: Store['removeRelay'] = (owner) => leave(this.#database, owner)
	relays: Store['relays'] = () => relays(this.#database)

	find: Store['find'] = (id) => find(this.#database, id)
	list: Store['list'] = (filter, limit, after) => list(this.#database, filter, limit, after)
	deadGroups: Store['deadGroups'] = (filter, limit) => deadGroups(this.#database, filter, limit)
	countDead: Store['countDead'] = (filter, limit) => countDead(this.#database, filter, limit)
	replay: Store['replay'] = (filter, limit, edit) => replay(this.#database, filter, limit, edit)
	discard: Store['discard'] = (filter, limit, keepHistory) =>
		discard(this.#database, filter, limit, keepHistory)
	retryNow: Store['retryNow'] = (filter, limit) => retryNow(this.#database, filter, limit)
	findPredecessor: Store['findPredecessor'] = (id) => ahead(this.#database, id)
	stats: Store['stats'] = (limit, destination) => stats(this.#database, limit, destination)
	now: Store['now'] = () => now(this.#database)

	async notify(): Promise<void> {
		await this.#database.run("select pg_notify($1::text, '')", [channelOf(this.#settings.schema)])
	}

	async listen(onRing: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const { client, schema, runtime } = this.#settings
		const channel = channelOf(schema)
		let stopListening: () => Promise<void>
		if (isPGlite(client)) stopListening = await client.listen(channel, () => onRing())
		else {
			const listener = new PgListener(client, channel, runtime, onRing, onError)
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
		client.removeListener('error', unheard)
		client.removeListener('connect', hear)
	}
}

/**
 * An outbox in a PostgreSQL, through a pool of `pg` or a database of PGlite.
 *
 * @example
 * const outbox = new Outbox({ store: postgresStore({ client: new pg.Pool({ connectionString }) }) })
 */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
	return new PostgresStore(options)
}
