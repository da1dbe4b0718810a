/**
 * The marks of an inbox in an SQLite file. A mark is written on the user's connection within the call, so that
 * nothing runs between the mark and the function of the message.
 */
import { YaokiError } from '../../../../core/errors/errors.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../../../core/options/schema.ts'
import type { Runtime } from '../../../../core/runtime/runtime.ts'
import { sleep } from '../../../../core/runtime/sleep.ts'
import { systemRuntime } from '../../../../core/runtime/system.ts'
import type { BetterSqliteDatabase } from '../../../../sql/better-sqlite.ts'
import { isSqliteClient, type SqliteClient, type SqliteDatabase } from '../../../../sql/clients.ts'
import { SqliteClock } from '../../../../sql/clock/sqlite-clock.ts'
import { TimedTransactions } from '../../../../sql/clock/timed-transactions.ts'
import { NO_NODE_SQLITE, openBetterSqlite, openNodeSqlite } from '../../../../sql/open-sqlite.ts'
import { neededVersion } from '../../../../sql/schema/migration.ts'
import {
	migrateSqlite,
	sqliteMigrations,
	sqliteSchemaVersion,
} from '../../../../sql/schema/sqlite-migrations.ts'
import { SharedTransactions } from '../../../../sql/shared-transactions.ts'
import { runOn, userBusyHint } from '../../../../sql/sqlite-client.ts'
import { SqliteConnection } from '../../../../sql/sqlite-connection.ts'
import { isBusy, isSchemaMismatch, sqliteHint } from '../../../../sql/sqlite-errors.ts'
import { twoCopiesCheck } from '../../../../sql/two-copies.ts'
import { InboxSchemaError, InboxStoreError } from '../../errors.ts'
import type { InboxStore, MarkResult, NewMark } from '../store.ts'
import { FIND_MARK, markOn, SqliteMarks, unmarkBy } from './marks.ts'
import { INBOX_CLOCK, INBOX_TABLES } from './schema.ts'
import { TurnMarks } from './turn-marks.ts'

/** Options of `sqliteInboxStore`. `file` is required. */
export interface SqliteInboxStoreOptions {
	/** The database file: the one of your own tables. A missing file is created, a missing folder is not. */
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

function readSqliteOptions(given: SqliteInboxStoreOptions | string): SqliteInboxStoreOptions {
	const options = typeof given === 'string' ? { file: given } : given
	checkNames(options, OPTIONS, 'sqliteInboxStore')
	const settings = readOptions<SqliteInboxStoreOptions>(options, OPTIONS)
	// Your transaction is on a connection of its own, and no other one can open a database in memory.
	if (!settings.file || settings.file === ':memory:')
		invalidOption('file', settings.file, 'the name of a file, the one that your own connection has open')
	return settings
}

function openDatabase(file: string): SqliteDatabase {
	const database = openNodeSqlite(file)
	if (database) return database
	throw new InboxStoreError(`open ${file}`, 'this runtime has no node:sqlite', NO_NODE_SQLITE)
}

const SHARED =
	'yaoki: message marked in an SQLite transaction that was open in an earlier turn of the event loop. If another caller of the connection opened it, its ROLLBACK removes your writes and the mark. Fix: call BEGIN, inbox.onceSync(messageId, { tx: db }, fn) and COMMIT without an await in between, or open a connection for each transaction that needs one. This warning is printed once.'

/**
 * Creates a store for an `Inbox` in an SQLite file: the file of your own tables, so that one transaction writes
 * both. Create its table with `await inbox.migrate()`.
 *
 * @example
 * const inbox = new Inbox({ store: sqliteInboxStore('shop.db') })
 */
export function sqliteInboxStore(options: SqliteInboxStoreOptions | string): InboxStore {
	const { file, open, clock: testClock, runtime = systemRuntime } = readSqliteOptions(options)
	const clock = new SqliteClock(runtime, INBOX_CLOCK)
	const own = new SqliteConnection(
		() => (open ? openBetterSqlite(open, file) : openDatabase(file)),
		testClock ?? (() => clock.now()),
	)
	const transactions = new TimedTransactions(own, runtime, testClock ? undefined : clock)
	const shared = new SharedTransactions(own, FIND_MARK)
	const checkCopies = twoCopiesCheck(own, 'inbox', open)
	const marks = new SqliteMarks(own)
	let hasWarned = false

	const turn = new TurnMarks()
	/** Only the own connection shows whether a mark is committed. It cannot be opened while another one switches the file to its log. */
	const openOwn = (): void => {
		try {
			own.database
		} catch {
			// The next mark tries it again.
		}
	}

	const explain = (action: string, error: unknown, tx?: SqliteClient): unknown => {
		if (error instanceof YaokiError) return error
		if (isSchemaMismatch(error)) {
			const found = versionOf(own)
			const needed = neededVersion(INBOX_TABLES)
			if (found !== undefined && found !== needed) return new InboxSchemaError(found, needed)
			if (tx) return new InboxStoreError(action, error, 'tx is connected to another database than the inbox.')
		}
		// The user's connection did not wait, and the store cannot wait in its place.
		if (tx && isBusy(error)) return new InboxStoreError(action, error, userBusyHint(error))
		return new InboxStoreError(`${action} (${file})`, error, sqliteHint(error))
	}
	const run = async <T>(mode: 'read' | 'write', action: string, operation: () => T): Promise<T> => {
		try {
			return await transactions.run(mode, operation)
		} catch (error) {
			throw explain(action, error)
		}
	}
	/** A mark with an earlier time than that of the database would expire before its retention is over. */
	const markedAt = (): number => (testClock || !own.isOpen ? own.now() : clock.readNow(own))
	/** A mark that is not committed is a conflict, because the earlier delivery may still be rolled back. */
	const writeMark = (tx: SqliteClient, mark: NewMark): MarkResult => {
		openOwn()
		const isShared = shared.isShared(tx)
		const isMarked = markOn(tx, markedAt(), mark)
		if (isMarked === undefined) return 'outside-transaction'
		// The caller itself wrote a mark of this turn.
		if (!isMarked) return turn.has(tx, mark) || marks.find(mark) ? 'duplicate' : 'conflict'
		turn.add(tx, mark)
		shared.record(tx, [mark.inbox, mark.messageId])
		if (isShared && !hasWarned) {
			hasWarned = true
			console.warn(SHARED)
		}
		return 'marked'
	}

	return {
		kind: 'sqlite',
		isSynchronous: true,
		migrations: sqliteMigrations(INBOX_TABLES),
		migrate: () => run('write', 'migrate', () => migrateSqlite(own, INBOX_TABLES)),
		schemaVersion: () => run('read', 'read the schema version', () => sqliteSchemaVersion(own, INBOX_TABLES)),
		accepts: isSqliteClient,
		mark(tx, mark) {
			if (!isSqliteClient(tx)) return 'outside-transaction'
			checkCopies(tx)
			try {
				return writeMark(tx, mark)
			} catch (error) {
				throw explain('mark a message in your transaction', error, tx)
			}
		},
		unmark(tx, mark) {
			if (tx === undefined) return run('write', 'remove a mark', () => marks.unmark(mark))
			return isSqliteClient(tx) ? unmarkBy(runOn(tx), mark) : undefined
		},
		find: (key) => run('read', 'find a message', () => marks.find(key)),
		forget: (key) => run('write', 'forget a message', () => marks.forget(key)),
		async purge(limit) {
			const purged = await run('write', 'delete expired marks', () => marks.purge(limit))
			// SQLite is synchronous: without a pause, a loop over all batches would block the process.
			await sleep(runtime, 0)
			return purged
		},
		stats: (limit, inbox) => run('read', 'count marks', () => marks.stats(limit, inbox)),
		async close() {
			await transactions.idle()
			own.close()
		},
	}
}

function versionOf(connection: SqliteConnection): number | undefined {
	try {
		return sqliteSchemaVersion(connection, INBOX_TABLES)
	} catch {
		return undefined
	}
}
