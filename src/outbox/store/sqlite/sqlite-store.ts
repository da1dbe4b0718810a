/**
 * The outbox in an SQLite file: durable, no server, shared by any number of processes. This class only says which call reads and which
 * writes; each concern has a file of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { isSqliteClient, type Queryable } from '../../../sql/clients.ts'
import { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { StoreError } from '../errors.ts'
import type { InsertResult, NewRow } from '../rows.ts'
import type { Migration, Store } from '../store.ts'
import { acquireTokens, changeCircuit, circuits, pause, returnTokens } from './circuits.ts'
import { claim, renew } from './claim.ts'
import { countDead, deadGroups, discard, dropHistory, replay, retryNow } from './dead-letters.ts'
import { dueDestinations, nextDueInMs } from './destination-names.ts'
import { SqliteExecutor, storeError } from './executor.ts'
import { insertInto, insertRows } from './insert.ts'
import { listen } from './listener.ts'
import { find, findPredecessor, list } from './messages.ts'
import { acquirePermits, heartbeat, relays, removeRelay } from './relays.ts'
import { MIGRATIONS, migrate, schemaVersion } from './schema.ts'
import { settle } from './settle.ts'
import { stats } from './stats.ts'

/** Options of an SQLite store. */
export interface SqliteStoreOptions {
	/** The database file, created if missing (its folder is not); `':memory:'` for a database that ends with the store. */
	readonly file: string
	/** For tests: replaces the database's clock, milliseconds since 1970. */
	readonly clock?: (() => number) | undefined
	/** Timers and randomness for pauses while the database is busy. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

const OPTIONS: OptionSchema = { file: 'string', clock: 'function', runtime: 'any' }

export function readSqliteOptions(given: SqliteStoreOptions | string): SqliteStoreOptions {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, OPTIONS)
	const settings = readOptions<SqliteStoreOptions>(options, OPTIONS)
	// SQLite treats an empty name as a private temporary file, which is useless for an outbox.
	if (!settings.file) invalidOption('file', settings.file, "a file name or ':memory:'")
	return settings
}

/** `process.getBuiltinModule` loads `node:sqlite` on first use, so that users of PostgreSQL never load it. */
function openDatabase(file: string): DatabaseSync {
	const sqlite = process.getBuiltinModule?.('node:sqlite')
	if (sqlite) return new sqlite.DatabaseSync(file)
	const hint = 'Use Node 22.13 or later (22.5 with --experimental-sqlite), or PostgreSQL.'
	throw new StoreError(`open ${file}`, 'this runtime has no node:sqlite', hint)
}

/** An outbox in an SQLite database, through `node:sqlite`. */
export class SqliteStore implements Store {
	readonly kind = 'sqlite'
	readonly migrations: readonly Migration[] = MIGRATIONS
	readonly #runtime: Runtime
	readonly #file: string
	readonly #connection: SqliteConnection
	readonly #executor: SqliteExecutor
	readonly #stops = new Set<() => void>()

	constructor(options: SqliteStoreOptions | string) {
		const { file, clock, runtime = systemRuntime } = readSqliteOptions(options)
		this.#runtime = runtime
		this.#file = file
		this.#connection = new SqliteConnection(() => openDatabase(file), clock)
		this.#executor = new SqliteExecutor(this.#connection, file, runtime)
	}

	/** The store's own connection. With `':memory:'` it is the only one, and can be passed as `tx`. */
	get database(): DatabaseSync {
		try {
			return this.#connection.database as DatabaseSync
		} catch (error) {
			throw storeError(`open ${this.#file}`, error)
		}
	}

	accepts(tx: Queryable): boolean {
		return isSqliteClient(tx)
	}

	async close(): Promise<void> {
		for (const stop of this.#stops) stop()
		await this.#executor.idle()
		this.#connection.close()
	}

	migrate: Store['migrate'] = () => this.#executor.write('migrate', (db) => migrate(db))
	schemaVersion: Store['schemaVersion'] = () => this.#executor.read('read the schema version', schemaVersion)

	/** With `tx`, the rows are inserted before the call returns. */
	insert: Store['insert'] = (rows, tx) => {
		if (tx !== undefined) return settled(() => this.#insertInto(tx, rows))
		return this.#executor.write('enqueue', (db) => ({
			duplicates: insertRows((sql, ...params) => db.rows(sql, ...params), rows, this.#testNow()),
			isInTransaction: false,
		}))
	}

	#insertInto(tx: Queryable, rows: readonly NewRow[]): InsertResult {
		if (!isSqliteClient(tx)) throw new StoreError('enqueue', 'tx is not a connection of node:sqlite')
		try {
			return insertInto(tx, rows, this.#testNow())
		} catch (error) {
			throw this.#executor.explain('enqueue in your transaction', error, tx)
		}
	}

	#testNow(): number | null {
		return this.#connection.clock ? this.#connection.now() : null
	}

	claim: Store['claim'] = (request) => this.#executor.write('claim', (db) => claim(db, request))
	settle: Store['settle'] = (owner, settlements, keepHistory) =>
		this.#executor.write('settle', (db, isSolo) => settle(db, owner, settlements, keepHistory, isSolo))
	renew: Store['renew'] = (owner, leaseMs, claims) =>
		this.#executor.write('renew leases', (db) => renew(db, owner, leaseMs, claims))
	nextDueInMs: Store['nextDueInMs'] = (among) =>
		this.#executor.read('read the next due time', (db) => nextDueInMs(db, among))
	dueDestinations: Store['dueDestinations'] = (limit, after) =>
		this.#executor.read('read due destinations', (db) => dueDestinations(db, limit, after))
	dropHistory: Store['dropHistory'] = (olderThanMs, limit) =>
		this.#executor.write('delete history', (db) => dropHistory(db, olderThanMs, limit))

	circuits: Store['circuits'] = (among) => this.#executor.read('read circuits', (db) => circuits(db, among))
	changeCircuit: Store['changeCircuit'] = (change) =>
		this.#executor.write('change a circuit', (db) => changeCircuit(db, change))
	pause: Store['pause'] = (destination, forMs, reason) =>
		this.#executor.write('pause a destination', (db) => pause(db, destination, forMs, reason))
	acquireTokens: Store['acquireTokens'] = (destination, count, rate) =>
		this.#executor.write('acquire tokens', (db) => acquireTokens(db, destination, count, rate))
	returnTokens: Store['returnTokens'] = (destination, count, rate) =>
		this.#executor.write('return tokens', (db) => returnTokens(db, destination, count, rate))
	acquirePermits: Store['acquirePermits'] = (request) =>
		this.#executor.write('acquire permits', (db) => acquirePermits(db, request))
	heartbeat: Store['heartbeat'] = (report, forgetAfterMs) =>
		this.#executor.write('record a heartbeat', (db) => heartbeat(db, report, forgetAfterMs))
	removeRelay: Store['removeRelay'] = (owner) =>
		this.#executor.write('remove a relay', (db) => removeRelay(db, owner))
	relays: Store['relays'] = () => this.#executor.read('list relays', relays)

	find: Store['find'] = (id) => this.#executor.read('find a message', (db) => find(db, id))
	list: Store['list'] = (filter, limit, after) =>
		this.#executor.read('list messages', (db) => list(db, filter, limit, after))
	deadGroups: Store['deadGroups'] = (filter, limit) =>
		this.#executor.read('group dead letters', (db) => deadGroups(db, filter, limit))
	countDead: Store['countDead'] = (filter, limit) =>
		this.#executor.read('count dead letters', (db) => countDead(db, filter, limit))
	replay: Store['replay'] = (filter, limit, edit) =>
		this.#executor.write('replay dead letters', (db) => replay(db, filter, limit, edit))
	discard: Store['discard'] = (filter, limit, keepHistory) =>
		this.#executor.write('discard dead letters', (db) => discard(db, filter, limit, keepHistory))
	retryNow: Store['retryNow'] = (filter, limit) =>
		this.#executor.write('retry messages', (db) => retryNow(db, filter, limit))
	findPredecessor: Store['findPredecessor'] = (id) =>
		this.#executor.read('find a predecessor', (db) => findPredecessor(db, id))
	stats: Store['stats'] = (limit, destination) =>
		this.#executor.read('count messages', (db) => stats(db, limit, destination))
	now: Store['now'] = () => this.#executor.read('read the clock', (db) => db.now())

	/** Does nothing: listeners detect every commit. */
	async notify(): Promise<void> {}

	listen(onNotify: () => void, onError: (error: unknown) => void): Promise<() => Promise<void>> {
		const explain = (error: unknown): void => onError(this.#executor.explain('listen', error))
		// No other connection can open a database in memory.
		const stop =
			this.#file === ':memory:' ? () => {} : listen(this.#connection, this.#runtime, onNotify, explain)
		this.#stops.add(stop)
		return Promise.resolve(async () => {
			stop()
			this.#stops.delete(stop)
		})
	}
}

/** Runs `work` immediately; an error becomes a rejection. */
function settled<T>(work: () => T): Promise<T> {
	try {
		return Promise.resolve(work())
	} catch (error) {
		return Promise.reject(error)
	}
}

/**
 * Creates an outbox store in an SQLite file.
 *
 * @example
 * const outbox = new Outbox({ store: sqliteStore('outbox.db') })
 * await outbox.migrate()
 */
export function sqliteStore(options: SqliteStoreOptions | string): SqliteStore {
	return new SqliteStore(options)
}
