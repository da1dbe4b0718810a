/**
 * The outbox in one file, the default for whoever has no server for it: durable, and shared by as many processes as one likes. This class
 * only says which call is a read and which a write; each concern is in a file of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { StoreError } from '../errors.ts'
import { isSqliteClient, type Queryable } from '../queryable.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import type { Migration, Store } from '../store.ts'
import { Access } from './access.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './archive.ts'
import { claim } from './claim.ts'
import { Connection } from './connection.ts'
import { gatesOf, hold, returnTokens, takeTokens, turnGate } from './gates.ts'
import { insertInto, insertRows } from './insert.ts'
import { ahead, find, list } from './messages.ts'
import { migrate, versionOf } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { destinations } from './names.ts'
import { readSqliteOptions, type SqliteStoreOptions } from './options.ts'
import { acquirePermits } from './permits.ts'
import { beat, leave, relays } from './relays.ts'
import { renew } from './renew.ts'
import { settle } from './settle.ts'
import { storeError } from './sqlite-error.ts'
import { nextDueInMs, stats } from './stats.ts'
import { listen } from './wake.ts'

/** An outbox in an SQLite database, through `node:sqlite`. */
export class SqliteStore implements Store {
	readonly kind = 'sqlite'
	readonly migrations: readonly Migration[] = MIGRATIONS
	readonly #runtime: Runtime
	readonly #connection: Connection
	readonly #access: Access
	readonly #stops = new Set<() => void>()

	constructor(options: SqliteStoreOptions | string) {
		const { file, clock, runtime = systemRuntime } = readSqliteOptions(options)
		this.#runtime = runtime
		this.#connection = new Connection(file, clock)
		this.#access = new Access(this.#connection, runtime)
	}

	/** The store's own connection. With `':memory:'` it is the only one there is, and goes as `tx`. */
	get database(): DatabaseSync {
		try {
			return this.#connection.database
		} catch (error) {
			throw storeError(`opening ${this.#connection.file}`, error)
		}
	}

	accepts(tx: Queryable): boolean {
		return isSqliteClient(tx)
	}

	async close(): Promise<void> {
		for (const stop of this.#stops) stop()
		await this.#access.idle()
		this.#connection.close()
	}

	migrate: Store['migrate'] = () => this.#access.write('migrating', (db) => migrate(db))
	schemaVersion: Store['schemaVersion'] = () => this.#access.read('reading the schema version', versionOf)

	/** With `tx` it is all done when the call returns, before anything is awaited. */
	insert: Store['insert'] = (rows, tx) => {
		if (tx !== undefined) return settled(() => this.#insertInto(tx, rows))
		return this.#access.write('enqueuing', (db) => ({
			duplicates: insertRows((sql, ...params) => db.rows(sql, ...params), rows, this.#testNow()),
			isInTransaction: false,
		}))
	}

	#insertInto(tx: Queryable, rows: readonly NewRow[]): InsertResult {
		if (!isSqliteClient(tx)) throw new StoreError('enqueuing', 'tx is no connection of node:sqlite')
		try {
			return insertInto(tx, rows, this.#testNow())
		} catch (error) {
			throw this.#access.explained('enqueuing in your transaction', error, tx)
		}
	}

	#testNow(): number | null {
		return this.#connection.clock ? this.#connection.now() : null
	}

	claim: Store['claim'] = (request) => this.#access.write('claiming', (db) => claim(db, request))
	settle: Store['settle'] = (owner, outcomes, keepHistory) =>
		this.#access.write('settling', (db, isCareful) => settle(db, owner, outcomes, keepHistory, isCareful))
	renew: Store['renew'] = (owner, leaseMs, held) =>
		this.#access.write('renewing leases', (db) => renew(db, owner, leaseMs, held))
	nextDueInMs: Store['nextDueInMs'] = (among) =>
		this.#access.read('looking for the next due time', (db) => nextDueInMs(db, among))
	dueDestinations: Store['dueDestinations'] = (limit, after) =>
		this.#access.read('looking for destinations', (db) => destinations(db, limit, after))
	dropHistory: Store['dropHistory'] = (olderThanMs, limit) =>
		this.#access.write('dropping history', (db) => dropHistory(db, olderThanMs, limit))

	circuits: Store['circuits'] = (among) => this.#access.read('reading gates', (db) => gatesOf(db, among))
	changeCircuit: Store['changeCircuit'] = (change) =>
		this.#access.write('turning a gate', (db) => turnGate(db, change))
	pause: Store['pause'] = (destination, forMs, reason) =>
		this.#access.write('holding a destination', (db) => hold(db, destination, forMs, reason))
	acquireTokens: Store['acquireTokens'] = (destination, count, rate) =>
		this.#access.write('taking tokens', (db) => takeTokens(db, destination, count, rate))
	returnTokens: Store['returnTokens'] = (destination, count, rate) =>
		this.#access.write('returning tokens', (db) => returnTokens(db, destination, count, rate))
	acquirePermits: Store['acquirePermits'] = (request) =>
		this.#access.write('taking permits', (db) => acquirePermits(db, request))
	heartbeat: Store['heartbeat'] = (report, forgetAfterMs) =>
		this.#access.write('reporting a relay', (db) => beat(db, report, forgetAfterMs))
	removeRelay: Store['removeRelay'] = (owner) => this.#access.write('leaving', (db) => leave(db, owner))
	relays: Store['relays'] = () => this.#access.read('listing relays', relays)

	find: Store['find'] = (id) => this.#access.read('finding a message', (db) => find(db, id))
	list: Store['list'] = (filter, limit, after) =>
		this.#access.read('listing messages', (db) => list(db, filter, limit, after))
	deadGroups: Store['deadGroups'] = (filter, limit) =>
		this.#access.read('grouping dead letters', (db) => deadGroups(db, filter, limit))
	countDead: Store['countDead'] = (filter, limit) =>
		this.#access.read('counting dead letters', (db) => countDead(db, filter, limit))
	replay: Store['replay'] = (filter, limit, edit) =>
		this.#access.write('replaying', (db) => replay(db, filter, limit, edit))
	discard: Store['discard'] = (filter, limit, keepHistory) =>
		this.#access.write('discarding', (db) => discard(db, filter, limit, keepHistory))
	retryNow: Store['retryNow'] = (filter, limit) =>
		this.#access.write('retrying now', (db) => retryNow(db, filter, limit))
	findPredecessor: Store['findPredecessor'] = (id) =>
		this.#access.read('looking for what is ahead', (db) => ahead(db, id))
	stats: Store['stats'] = (limit, destination) =>
		this.#access.read('counting', (db) => stats(db, limit, destination))
	now: Store['now'] = () => this.#access.read('reading the clock', (db) => db.now())

	/** Nothing to do: every commit can be heard. */
	async notify(): Promise<void> {}

	listen(onRing: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const explain = (error: unknown): void => onError(this.#access.explained('listening', error))
		const stop = listen(this.#connection, this.#runtime, onRing, explain)
		this.#stops.add(stop)
		return Promise.resolve(async () => {
			stop()
			this.#stops.delete(stop)
		})
	}
}

/** Done at once; what it throws is a rejection. */
function settled<T>(work: () => T): Promise<T> {
	try {
		return Promise.resolve(work())
	} catch (error) {
		return Promise.reject(error)
	}
}

/**
 * An outbox in an SQLite file: one folder entry, no server.
 *
 * @example
 * const outbox = new Outbox({ store: sqliteStore('outbox.db') })
 * await outbox.migrate()
 */
export function sqliteStore(options: SqliteStoreOptions | string): SqliteStore {
	return new SqliteStore(options)
}
