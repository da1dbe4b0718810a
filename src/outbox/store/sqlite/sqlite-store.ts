/**
 * The outbox in an SQLite file: durable, no server, shared by any number of processes. This file only says which operation reads and which
 * writes; the operations are functions in the files beside it.
 */
import type { DatabaseSync } from 'node:sqlite'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { isSqliteClient } from '../../../sql/clients.ts'
import { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { StoreError } from '../errors.ts'
import type { Store } from '../store.ts'
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
	/**
	 * The database file. A missing file is created, a missing folder is not. `':memory:'`: a database that exists until the store
	 * is closed.
	 */
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

/** Operations with the action that completes "Cannot ..." in errors. */
const READS = {
	schemaVersion: ['read the schema version', schemaVersion],
	nextDueInMs: ['read the next due time', nextDueInMs],
	dueDestinations: ['read due destinations', dueDestinations],
	circuits: ['read circuits', circuits],
	relays: ['list relays', relays],
	find: ['find a message', find],
	list: ['list messages', list],
	deadGroups: ['group dead letters', deadGroups],
	countDead: ['count dead letters', countDead],
	findPredecessor: ['find a predecessor', findPredecessor],
	stats: ['count messages', stats],
	now: ['read the clock', (db: SqliteConnection) => db.now()],
} as const

const WRITES = {
	migrate: ['migrate', migrate],
	claim: ['claim', claim],
	renew: ['renew leases', renew],
	dropHistory: ['delete history', dropHistory],
	changeCircuit: ['change a circuit', changeCircuit],
	pause: ['pause a destination', pause],
	acquireTokens: ['acquire tokens', acquireTokens],
	returnTokens: ['return tokens', returnTokens],
	acquirePermits: ['acquire permits', acquirePermits],
	heartbeat: ['record a heartbeat', heartbeat],
	removeRelay: ['remove a relay', removeRelay],
	replay: ['replay dead letters', replay],
	discard: ['discard dead letters', discard],
	retryNow: ['retry messages', retryNow],
} as const

type Bound<Operations> = {
	[Name in keyof Operations]: Operations[Name] extends readonly [
		string,
		(connection: SqliteConnection, ...args: infer Args) => infer Result,
	]
		? (...args: Args) => Promise<Result>
		: never
}

type Operation = (connection: SqliteConnection, ...args: unknown[]) => unknown

const bindTo = <Operations extends object>(
	executor: SqliteExecutor,
	mode: 'read' | 'write',
	operations: Operations,
): Bound<Operations> =>
	Object.fromEntries(
		Object.entries(operations).map(([name, [action, operation]]) => [
			name,
			(...args: unknown[]) => executor[mode](action, (db) => (operation as Operation)(db, ...args)),
		]),
	) as Bound<Operations>

/** An outbox in an SQLite database, through `node:sqlite`. */
export interface SqliteStore extends Store {
	readonly kind: 'sqlite'
	/** The store's own connection. With `':memory:'` it is the only one, and can be passed as `tx`. */
	readonly database: DatabaseSync
}

/**
 * Creates an outbox store in an SQLite file.
 *
 * @example
 * const outbox = new Outbox({ store: sqliteStore('outbox.db') })
 * await outbox.migrate()
 */
export function sqliteStore(options: SqliteStoreOptions | string): SqliteStore {
	const { file, clock, runtime = systemRuntime } = readSqliteOptions(options)
	const connection = new SqliteConnection(() => openDatabase(file), clock)
	const executor = new SqliteExecutor(connection, file, runtime)
	const stops = new Set<() => void>()
	const testNow = (): number | null => (clock ? connection.now() : null)
	return {
		...bindTo(executor, 'read', READS),
		...bindTo(executor, 'write', WRITES),
		kind: 'sqlite',
		migrations: MIGRATIONS,
		accepts: isSqliteClient,
		get database() {
			try {
				return connection.database as DatabaseSync
			} catch (error) {
				throw storeError(`open ${file}`, error)
			}
		},
		settle: (owner, settlements, keepHistory) =>
			executor.write('settle', (db, isSolo) => settle(db, owner, settlements, keepHistory, isSolo)),
		/** With `tx`, the rows are inserted before the call returns. */
		async insert(rows, tx) {
			if (tx === undefined)
				return executor.write('enqueue', (db) => ({
					duplicates: insertRows((sql, ...params) => db.rows(sql, ...params), rows, testNow()),
					isInTransaction: false,
				}))
			if (!isSqliteClient(tx)) throw new StoreError('enqueue', 'tx is not a connection of node:sqlite')
			try {
				return insertInto(tx, rows, testNow())
			} catch (error) {
				throw executor.explain('enqueue in your transaction', error, tx)
			}
		},
		/** Does nothing: listeners detect every commit. */
		async notify() {},
		async listen(onNotify, onError) {
			const explain = (error: unknown): void => onError(executor.explain('listen', error))
			// No other connection can open a database in memory.
			const stop = file === ':memory:' ? () => {} : listen(connection, runtime, onNotify, explain)
			stops.add(stop)
			return async () => {
				stop()
				stops.delete(stop)
			}
		},
		async close() {
			for (const stop of stops) stop()
			await executor.idle()
			connection.close()
		},
	}
}
