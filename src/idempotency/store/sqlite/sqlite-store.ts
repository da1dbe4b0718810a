/** Keys in an SQLite file: durable, no server, shared by the processes of one machine. */
import { YaokiError } from '../../../core/errors/errors.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../core/options/schema.ts'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { sleep } from '../../../core/runtime/sleep.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import { AdaptedBetterSqlite, isBetterSqlite } from '../../../sql/better-sqlite.ts'
import { isSqliteClient, SQLITE_TX, type SqliteDatabase } from '../../../sql/clients.ts'
import { SqliteClock } from '../../../sql/clock/sqlite-clock.ts'
import { TimedTransactions } from '../../../sql/clock/timed-transactions.ts'
import { NO_NODE_SQLITE, openNodeSqlite } from '../../../sql/open-sqlite.ts'
import { neededVersion } from '../../../sql/schema/migration.ts'
import {
	migrateSqlite,
	sqliteMigrations,
	sqliteSchemaVersion,
} from '../../../sql/schema/sqlite-migrations.ts'
import { runOn, userBusyHint } from '../../../sql/sqlite-client.ts'
import { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { isBusy, isSchemaMismatch, sqliteHint } from '../../../sql/sqlite-errors.ts'
import { IdempotencySchemaError, IdempotencyStoreError } from '../errors.ts'
import { checkUserTransaction, type SqlIdempotencyStore } from '../sql-store.ts'
import type { StoreCall } from '../store.ts'
import { completeOn, SqliteKeys } from './keys.ts'
import { OpenTransactions } from './open-transaction.ts'
import { IDEMPOTENCY_CLOCK, IDEMPOTENCY_TABLES } from './schema.ts'

/** The store that `sqliteIdempotencyStore` returns. Pass it as `store` to `idempotency`. */
export interface SqliteIdempotencyStore<Tx = SqliteTransaction> extends SqlIdempotencyStore<Tx> {
	readonly kind: 'sqlite'
}

/**
 * Creates a store of idempotency keys in an SQLite file, for processes on one machine; create its table with
 * `await store.migrate()`. The function of `context.transaction` gets the `DatabaseSync` of `node:sqlite`, or
 * what `open` returns.
 *
 * @example
 * const store = sqliteIdempotencyStore('app.db')
 * await store.migrate()
 * const engine = idempotency({ name: 'payments', store, principal: ({ raw }) => userOf(raw)?.id })
 */
export function sqliteIdempotencyStore<Tx = SqliteTransaction>(
	options: SqliteIdempotencyStoreOptions<Tx> | string,
): SqliteIdempotencyStore<NoInfer<Tx>> {
	const { file, open, clock: testClock, runtime = systemRuntime } = readSqliteOptions(options)
	const systemClock = new SqliteClock(runtime, IDEMPOTENCY_CLOCK)
	const clock = testClock ? undefined : systemClock
	/** What the user gets: the driver's own object. */
	const given = new WeakMap<SqliteConnection, Tx>()
	const connect = (): SqliteConnection => {
		const connection: SqliteConnection = new SqliteConnection(
			() => {
				const database = open ? open(file) : nodeDatabase<Tx>(file)
				given.set(connection, database)
				return adapted(database)
			},
			testClock ?? (() => systemClock.now()),
		)
		return connection
	}
	const isInMemory = file === ':memory:'
	const own = connect()
	const separate = isInMemory ? own : connect()
	const transactions = new TimedTransactions(own, runtime, clock)
	const openTransactions = new OpenTransactions(separate, runtime, clock, async () => {
		if (isInMemory) await transactions.idle()
	})
	const keys = new SqliteKeys(own)
	const keysInTransaction = new SqliteKeys(separate)

	const explain = (error: unknown): unknown => {
		if (error instanceof YaokiError) return error
		if (isSchemaMismatch(error)) {
			const found = versionOf(own)
			const needed = neededVersion(IDEMPOTENCY_TABLES)
			if (found !== undefined && found !== needed) return new IdempotencySchemaError(found, needed)
		}
		return new IdempotencyStoreError(error, sqliteHint(error))
	}
	const run = async <T>(mode: 'read' | 'write', operation: () => T): Promise<T> => {
		while (isInMemory && openTransactions.latest !== undefined) await openTransactions.latest
		try {
			return await transactions.run(mode, operation)
		} catch (error) {
			throw explain(error)
		}
	}

	return {
		kind: 'sqlite',
		migrations: sqliteMigrations(IDEMPOTENCY_TABLES),
		migrate: () => run('write', () => migrateSqlite(own, IDEMPOTENCY_TABLES)),
		schemaVersion: () => run('read', () => sqliteSchemaVersion(own, IDEMPOTENCY_TABLES)),
		/** Most requests of a busy key are replays: they do not wait for the writer. */
		claim: (request, call = { isWaiting: false, isAbandoned: false }) =>
			waitingForLock(
				call,
				async (now) =>
					(await run('read', () => now(() => keys.lookUp(request)))) ??
					run('write', () => now(() => keys.claim(request))),
			),
		heartbeat: (ref, leaseMs) => run('write', () => keys.heartbeat(ref, leaseMs)),
		saveStep: (ref, name, value) => run('write', () => keys.saveStep(ref, name, value)),
		complete: (ref, response, retentionMs) => run('write', () => keys.complete(ref, response, retentionMs)),
		release: (ref) => run('write', () => keys.release(ref)),
		resolve: (id, response, retentionMs) => run('write', () => keys.resolve(id, response, retentionMs)),
		delete: (id, isForced = false) => run('write', () => keys.delete(id, isForced)),
		transaction: (work) =>
			openTransactions.run((timed) =>
				work(given.get(separate) as Tx, async (ref, response, retentionMs) => {
					try {
						return timed(() => keysInTransaction.complete(ref, response, retentionMs))
					} catch (error) {
						throw explain(error)
					}
				}),
			),
		completeIn(tx, ref, response, retentionMs) {
			checkUserTransaction(tx, isSqliteClient, SQLITE_TX, 'sqlite')
			try {
				return completeOn(runOn(tx), own.now(), ref, response, retentionMs)
			} catch (error) {
				if (isBusy(error)) throw new IdempotencyStoreError(error, userBusyHint(error))
				throw isSchemaMismatch(error) ? new IdempotencyStoreError(error, OTHER_DATABASE) : error
			}
		},
		async purge(limit) {
			const purged = await run('write', () => keys.purge(limit))
			// SQLite is synchronous: without a pause, a loop over all batches would block the process.
			await sleep(runtime, 0)
			return purged
		},
		find: (id) => run('read', () => keys.find(id)),
		async close() {
			while (openTransactions.latest !== undefined) await openTransactions.latest
			await transactions.idle()
			separate.close()
			own.close()
		},
	}
}

const OTHER_DATABASE = 'tx is connected to another database than the store.'

/** SQLite runs an operation immediately when it has the lock. Until then it waits for another transaction. */
async function waitingForLock<T>(
	call: StoreCall,
	claim: (now: <R>(operation: () => R) => R) => Promise<T>,
): Promise<T> {
	call.isWaiting = true
	try {
		return await claim((operation) => {
			if (call.isAbandoned) throw new IdempotencyStoreError('the claim has waited too long for a lock')
			return operation()
		})
	} catch (error) {
		call.isWaiting = isBusy((error as IdempotencyStoreError).cause)
		throw error
	}
}

function nodeDatabase<Tx>(file: string): Tx {
	const database = openNodeSqlite(file)
	if (database) return database as Tx
	throw new IdempotencyStoreError('this runtime has no node:sqlite', NO_NODE_SQLITE)
}

function adapted(database: unknown): SqliteDatabase {
	if (isBetterSqlite(Object(database))) return new AdaptedBetterSqlite(Object(database))
	if (typeof Object(database).prepare === 'function') return database as SqliteDatabase
	return invalidOption('open', database, 'a function that returns a Database of better-sqlite3')
}

function versionOf(connection: SqliteConnection): number | undefined {
	try {
		return sqliteSchemaVersion(connection, IDEMPOTENCY_TABLES)
	} catch {
		return undefined
	}
}

/** Options of `sqliteIdempotencyStore`. `file` is required. */
export interface SqliteIdempotencyStoreOptions<Database = SqliteTransaction> {
	/**
	 * The database file. A missing file is created, a missing folder is not. `':memory:'`: a database that
	 * exists until the store is closed.
	 */
	readonly file: string
	/**
	 * Opens the file: `(file) => new Database(file)` for `better-sqlite3`. Necessary if your program has the
	 * file open with it, because two copies of SQLite in one process do not see each other's locks. It is
	 * called a second time for transactions. Default: `node:sqlite`.
	 */
	readonly open?: ((file: string) => Database) | undefined
	/** For tests: replaces the database's clock, milliseconds since 1970. */
	readonly clock?: (() => number) | undefined
	/** The clock, and timers and randomness for pauses while the database is busy. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

type SqliteParameter = string | number | bigint | null | Uint8Array

/**
 * The connection that `context.transaction` of a `sqliteIdempotencyStore` passes to your function:
 * `DatabaseSync` of `node:sqlite`, or a `Database` of `better-sqlite3`.
 */
export interface SqliteTransaction {
	exec(sql: string): unknown
	prepare(sql: string): {
		run(...params: SqliteParameter[]): {
			readonly changes: number | bigint
			readonly lastInsertRowid: number | bigint
		}
		get(...params: SqliteParameter[]): unknown
		all(...params: SqliteParameter[]): unknown[]
	}
}

const OPTIONS: OptionSchema = { file: 'string', open: 'function', clock: 'function', runtime: 'any' }

function readSqliteOptions<Database>(
	given: SqliteIdempotencyStoreOptions<Database> | string,
): SqliteIdempotencyStoreOptions<Database> {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, OPTIONS, 'sqliteIdempotencyStore')
	const settings = readOptions<SqliteIdempotencyStoreOptions<Database>>(options, OPTIONS)
	// SQLite treats an empty name as a private temporary file.
	if (!settings.file) invalidOption('file', settings.file, "a file name or ':memory:'")
	return settings
}
