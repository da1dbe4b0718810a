/**
 * The outbox in an SQLite file: durable, no server, shared by any number of processes. This file only says
 * which operation reads and which writes; the operations are functions in the files beside it.
 */
import type { DatabaseSync } from 'node:sqlite'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import type { BetterSqliteDatabase } from '../../../sql/better-sqlite.ts'
import {
	isSqliteClient,
	type Queryable,
	type SqliteClient,
	type SqliteDatabase,
} from '../../../sql/clients.ts'
import { SqliteClock } from '../../../sql/clock/sqlite-clock.ts'
import { NO_NODE_SQLITE, openBetterSqlite, openNodeSqlite } from '../../../sql/open-sqlite.ts'
import { SharedTransactions } from '../../../sql/shared-transactions.ts'
import { type RunStatement, userBusyHint } from '../../../sql/sqlite-client.ts'
import { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { isBusy } from '../../../sql/sqlite-errors.ts'
import { twoCopiesCheck } from '../../../sql/two-copies.ts'
import { OutboxStoreError } from '../errors.ts'
import type { OutboxStore, SyncEnqueueStore } from '../store.ts'
import { attemptOperations, settleWithAttempts } from './attempts.ts'
import { circuitOperations } from './circuits.ts'
import { claimOperations } from './claim.ts'
import { deadLetterOperations } from './dead-letters.ts'
import { dueOperations } from './due.ts'
import { endpointStore } from './endpoint-store.ts'
import { SqliteExecutor, type Synchronous, storeError } from './executor.ts'
import { dropDedupeKeys, insertInto, insertRows } from './insert.ts'
import { listen } from './listener.ts'
import { messageOperations } from './messages.ts'
import { relayOperations } from './relays.ts'
import { resendOperations } from './resend.ts'
import { MIGRATIONS, migrate, OUTBOX_CLOCK, schemaVersion } from './schema.ts'
import { renew, settle } from './settle.ts'
import { stats } from './stats.ts'

/** Options of `sqliteOutboxStore`. `file` is required. */
export interface SqliteOutboxStoreOptions {
	/**
	 * The database file. A missing file is created, a missing folder is not. `':memory:'`: a database that
	 * exists until the store is closed.
	 */
	readonly file: string
	/**
	 * Opens the file with `better-sqlite3`: `(file) => new Database(file)`. Necessary if your program has the
	 * file open with it, because two copies of SQLite in one process do not see each other's locks. Default:
	 * `node:sqlite`.
	 */
	readonly open?: ((file: string) => BetterSqliteDatabase) | undefined
	/** For tests: replaces the database's clock, milliseconds since 1970. */
	readonly clock?: (() => number) | undefined
	/** The clock, and timers and randomness for pauses while the database is busy. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

const OPTIONS: OptionSchema = { file: 'string', open: 'function', clock: 'function', runtime: 'any' }

export function readSqliteOptions(given: SqliteOutboxStoreOptions | string): SqliteOutboxStoreOptions {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, OPTIONS)
	const settings = readOptions<SqliteOutboxStoreOptions>(options, OPTIONS)
	// SQLite treats an empty name as a private temporary file, which is useless for an outbox.
	if (!settings.file) invalidOption('file', settings.file, "a file name or ':memory:'")
	return settings
}

function openDatabase(file: string): SqliteDatabase {
	const database = openNodeSqlite(file)
	if (database) return database
	throw new OutboxStoreError(`open ${file}`, 'this runtime has no node:sqlite', NO_NODE_SQLITE)
}

/** The actions complete "Cannot ..." in errors. */
const READS = {
	schemaVersion: 'read the schema version',
	claimsOf: 'read the claims of a relay',
	hasClaimable: 'search for due messages',
	nextDueInMs: 'read the next due time',
	dueDestinations: 'read due destinations',
	circuits: 'read circuits',
	operatorPauses: 'list paused destinations',
	relays: 'list relays',
	find: 'find a message',
	list: 'list messages',
	deadGroups: 'group dead letters',
	countDead: 'count dead letters',
	audit: 'read the audit',
	attempts: 'read attempts',
	findPredecessor: 'find a predecessor',
	stats: 'count messages',
	now: 'read the clock',
} as const

const WRITES = {
	migrate: 'migrate',
	claim: 'claim',
	renew: 'renew leases',
	dropHistory: 'delete history',
	dropDedupeKeys: 'delete dedupe keys',
	dropAudit: 'delete audit records',
	logAttempts: 'log attempts',
	dropAttempts: 'delete attempts',
	changeCircuit: 'change a circuit',
	pause: 'pause a destination',
	changeByOperator: 'change a destination',
	acquireTokens: 'acquire tokens',
	returnTokens: 'return tokens',
	acquirePermits: 'acquire permits',
	heartbeat: 'record a heartbeat',
	removeRelay: 'remove a relay',
	replay: 'replay dead letters',
	discard: 'discard dead letters',
	resend: 'resend messages',
	retryNow: 'retry messages',
	expire: 'expire messages',
} as const

type Bound = Pick<OutboxStore, keyof typeof READS | keyof typeof WRITES>

/** The outbox store that `sqliteOutboxStore` returns. Its `database` is its own connection. */
export interface SqliteOutboxStore extends OutboxStore {
	readonly kind: 'sqlite'
	readonly insertSync: SyncEnqueueStore['insertSync']
	/** The store's own connection of `node:sqlite`. With `':memory:'` it is the only one, and can be passed as `tx`. */
	readonly database: DatabaseSync
}

/**
 * Creates an outbox store in an SQLite file.
 *
 * @example
 * const outbox = new Outbox({ store: sqliteOutboxStore('outbox.db') })
 * await outbox.migrate()
 */
export function sqliteOutboxStore(options: SqliteOutboxStoreOptions | string): SqliteOutboxStore {
	const { file, open, clock: testClock, runtime = systemRuntime } = readSqliteOptions(options)
	const clock = new SqliteClock(runtime, OUTBOX_CLOCK)
	const connection = new SqliteConnection(
		() => (open ? openBetterSqlite(open, file) : openDatabase(file)),
		testClock ?? (() => clock.now()),
	)
	const executor = new SqliteExecutor(connection, file, runtime, testClock ? undefined : clock)
	const shared = new SharedTransactions(connection, 'SELECT 1 FROM yaoki_outbox WHERE id = ?1')
	const checkCopies = twoCopiesCheck(connection, 'outbox', open)
	const stops = new Set<() => void>()
	const onUserConnection = <T>(tx: Queryable, action: string, work: (tx: SqliteClient) => T): T => {
		if (!isSqliteClient(tx)) throw new OutboxStoreError(action, 'tx is not an SQLite connection')
		checkCopies(tx)
		try {
			return work(tx)
		} catch (error) {
			if (!isBusy(error)) throw executor.explain(action, error, tx)
			// The user's connection did not wait, and the store cannot wait in its place: the rows must be written
			// within this tick.
			throw new OutboxStoreError(action, error, userBusyHint(error))
		}
	}
	/** The estimated time may be earlier than that of the database: what is written would expire early. */
	const userNow = (): number => {
		if (testClock || !connection.isOpen) return connection.now()
		try {
			return clock.readNow(connection)
		} catch {
			// A lock on the store's own connection is no reason to reject the rows.
			return connection.now()
		}
	}
	const insertSync: SyncEnqueueStore['insertSync'] = (rows, given, options) =>
		onUserConnection(given, 'enqueue in your transaction', (tx) => {
			const isShared = shared.isShared(tx)
			const inserted = insertInto(tx, rows, userNow(), options)
			const last = rows.findLast(({ id }) => !inserted.duplicates.has(id))
			if (last && inserted.isInTransaction) shared.record(tx, [last.id])
			return isShared ? { ...inserted, isShared } : inserted
		})
	const operations: Synchronous<Bound> = {
		...claimOperations(connection),
		...dueOperations(connection),
		...circuitOperations(connection),
		...relayOperations(connection),
		...deadLetterOperations(connection),
		...resendOperations(connection),
		...attemptOperations(connection),
		...messageOperations(connection),
		renew: (owner, leaseMs, claims) => renew(connection, owner, leaseMs, claims),
		migrate: () => migrate(connection),
		schemaVersion: () => schemaVersion(connection),
		stats: (limit, destination) =>
			stats(connection, testClock ?? (() => runtime.wallNow()), limit, destination),
		now: () => connection.now(),
		dropDedupeKeys: (limit) => dropDedupeKeys(connection, limit),
	}
	return {
		...executor.bind<Bound>(operations, READS, WRITES),
		kind: 'sqlite',
		migrations: MIGRATIONS,
		accepts: isSqliteClient,
		endpoints: endpointStore(connection, executor, onUserConnection, userNow),
		get database() {
			if (open)
				throw new OutboxStoreError(
					'return the database',
					'it was opened by the option "open"',
					'Keep your own reference.',
				)
			try {
				return connection.database as unknown as DatabaseSync
			} catch (error) {
				throw storeError(`open ${file}`, error)
			}
		},
		settle: (owner, settlements, keepHistory) =>
			settleWithAttempts(connection, settlements, (log) =>
				executor.run('write', 'settle', (isSolo) => {
					const lost = settle(connection, owner, settlements, keepHistory, isSolo)
					log(lost)
					return lost
				}),
			),
		/** With `tx`, the rows are inserted before the call returns. */
		async insert(rows, tx, options) {
			if (tx !== undefined) return insertSync(rows, tx, options)
			const run: RunStatement = (sql, ...params) => connection.rows(sql, ...params)
			return executor.run('write', 'enqueue', () => ({
				duplicates: insertRows(run, rows, connection.now(), options),
				isInTransaction: false,
			}))
		},
		insertSync,
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
