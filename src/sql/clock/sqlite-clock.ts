/**
 * The clock of an SQLite database. SQLite has none of its own: each process reads the machine's, which can be
 * set. So the database keeps the greatest time that any process has used, and every transaction continues
 * from there (step-clock.ts).
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { builtinModule } from '../node-modules.ts'
import type { SqliteConnection, SqlRow } from '../sqlite-connection.ts'
import { isSchemaMismatch } from '../sqlite-errors.ts'
import { type ClockMark, type ClockStep, stepClock } from './step-clock.ts'

/** Where the time is kept, and what a jump of the clock changes. */
export interface ClockTables {
	readonly table: string
	/** Statements that extend by ?2 everything that ends after ?1: it was running when the clock jumped. */
	readonly extend: readonly string[]
}

/** Creates the table of a clock. The migration stores 0: no time has been used yet. */
export const clockTable = (name: string): string => `CREATE TABLE ${name} (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	time INTEGER NOT NULL,
	wall INTEGER NOT NULL,
	monotonic INTEGER NOT NULL
) STRICT;
INSERT INTO ${name} (id, time, wall, monotonic) VALUES (1, 0, 0, 0);`

/** The stored time may be older by this much. Processes that start after a jump see it, so it is less than a lease. */
const SAVE_EVERY_MS = 100

export class SqliteClock {
	readonly #runtime: Runtime
	readonly #read: string
	readonly #save: string
	readonly #extend: readonly string[]
	readonly #monotonicNow: () => number
	/** The latest committed transaction of this process. */
	#own: ClockMark | undefined
	/** The time of the transaction that is running. */
	#current: number | undefined
	/** What `readNow` has read. */
	#stored: ClockMark | undefined
	#readAgainAt = Number.NEGATIVE_INFINITY

	constructor(runtime: Runtime, { table, extend }: ClockTables) {
		this.#runtime = runtime
		this.#read = `SELECT time, wall, monotonic FROM ${table}`
		this.#save = `UPDATE ${table} SET time = ?1, wall = ?2, monotonic = ?3`
		this.#extend = extend
		// The monotonic clock of the system starts with the process; other processes can compare the time since
		// the machine started.
		const startedAt = runtime === systemRuntime ? uptimeMs() - runtime.now() : 0
		this.#monotonicNow = () => Math.floor(startedAt + runtime.now())
	}

	/** Returns the time of the running transaction; between two, it is estimated without reading the database. */
	now(): number {
		return this.#current ?? this.#step(undefined).time
	}

	/**
	 * Returns the time for a row that the user's connection writes. Read from the database, because the time that
	 * another process has used may be ahead of this machine's clock; not more often than it is stored.
	 */
	readNow(connection: SqliteConnection): number {
		const now = this.#runtime.now()
		if (now >= this.#readAgainAt) {
			const row = readRow(connection, this.#read)
			this.#stored = row && toMark(row)
			this.#readAgainAt = now + SAVE_EVERY_MS
		}
		return this.#step(this.#stored).time
	}

	/**
	 * Runs `work` in a transaction that is open, with one time for all of it. Returns a function that must be
	 * called after the commit: a jump that was rolled back has to be recorded again.
	 */
	during<T>(connection: SqliteConnection, isWrite: boolean, work: () => T): { result: T; onCommit(): void } {
		const row = readRow(connection, this.#read)
		const step = this.#step(row && toMark(row))
		if (isWrite && row) this.#store(connection, Number(row[0]), step)
		this.#current = step.time
		try {
			const result = work()
			const onCommit = (): void => {
				// A jump that was only read extends leases in the next transaction that writes. Time that was set
				// back runs on meanwhile.
				if (isWrite || !step.extension) this.#own = step
			}
			return { result, onCommit }
		} finally {
			this.#current = undefined
		}
	}

	#store(connection: SqliteConnection, storedTime: number, step: ClockStep): void {
		const { time, wall, monotonic, extension, isSetBack } = step
		if (extension) for (const sql of this.#extend) connection.run(sql, extension.from, extension.byMs)
		if (extension || isSetBack || time >= storedTime + SAVE_EVERY_MS)
			connection.run(this.#save, time, wall, monotonic)
	}

	#step(stored: ClockMark | undefined): ClockStep {
		return stepClock(stored, this.#own, Math.floor(this.#runtime.wallNow()), this.#monotonicNow())
	}
}

/** Returns undefined if the tables do not exist yet. */
function readRow(connection: SqliteConnection, sql: string): SqlRow | undefined {
	try {
		return connection.row(sql)
	} catch (error) {
		if (isSchemaMismatch(error)) return undefined
		throw error
	}
}

const toMark = ([time, wall, monotonic]: SqlRow): ClockMark | undefined =>
	time === 0 ? undefined : { time: Number(time), wall: Number(wall), monotonic: Number(monotonic) }

const uptimeMs = (): number => (builtinModule<{ uptime(): number }>('node:os')?.uptime() ?? 0) * 1_000
