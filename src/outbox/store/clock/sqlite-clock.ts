/**
 * The clock of an SQLite database. SQLite has none of its own: each process reads the machine's, which can be set. So the database keeps the
 * greatest time that any process has used, and every transaction continues from there (decisions/clock.ts).
 */
import { uptime } from 'node:os'
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { systemRuntime } from '../../../core/runtime/system.ts'
import type { SqliteConnection, SqlRow } from '../../../sql/sqlite-connection.ts'
import { isSchemaMismatch } from '../../../sql/sqlite-errors.ts'
import { type ClockMark, type ClockStep, stepClock } from '../decisions/clock.ts'

const READ = 'SELECT time, wall, monotonic FROM yaoki_outbox_clock'
const SAVE = 'UPDATE yaoki_outbox_clock SET time = ?1, wall = ?2, monotonic = ?3'

/** Everything that ends after ?1 was running when the clock jumped by ?2. */
const EXTEND = [
	'UPDATE yaoki_outbox SET lease_until = lease_until + ?2 WHERE lease_until > ?1',
	'UPDATE yaoki_outbox_permits SET until = until + ?2 WHERE until > ?1',
	'UPDATE yaoki_outbox_destinations SET paused_until = paused_until + ?2 WHERE paused_until > ?1',
	'UPDATE yaoki_outbox_relays SET seen_at = seen_at + ?2 WHERE ?1 > 0',
]

/** The stored time may be older by this much. Processes that start after a jump see it, so it is less than a lease. */
const SAVE_EVERY_MS = 100

export class SqliteClock {
	readonly #runtime: Runtime
	readonly #monotonicNow: () => number
	/** The latest committed transaction of this process. */
	#own: ClockMark | undefined
	/** The time of the transaction that is running. */
	#current: number | undefined

	constructor(runtime: Runtime) {
		this.#runtime = runtime
		// The monotonic clock of the system starts with the process; other processes can compare the time since the machine started.
		const startedAt = runtime === systemRuntime ? uptime() * 1_000 - runtime.now() : 0
		this.#monotonicNow = () => Math.floor(startedAt + runtime.now())
	}

	/** Returns the time of the running transaction; between two, it is estimated without reading the database. */
	now(): number {
		return this.#current ?? this.#step(undefined).time
	}

	/**
	 * Runs `work` in a transaction that is open, with one time for all of it. Returns a function that must be called after the commit: a jump
	 * that was rolled back has to be recorded again.
	 */
	during<T>(connection: SqliteConnection, isWrite: boolean, work: () => T): { result: T; onCommit(): void } {
		const row = readRow(connection)
		const step = this.#step(row && toMark(row))
		const isNews = step.extension !== undefined || step.isSetBack
		if (isWrite && row) save(connection, Number(row[0]), step)
		this.#current = step.time
		try {
			const result = work()
			const onCommit = (): void => {
				// A jump that was only read is recorded by the next transaction that writes.
				if (isWrite || !isNews) this.#own = step
			}
			return { result, onCommit }
		} finally {
			this.#current = undefined
		}
	}

	#step(stored: ClockMark | undefined): ClockStep {
		return stepClock(stored, this.#own, Math.floor(this.#runtime.wallNow()), this.#monotonicNow())
	}
}

/** Returns undefined if the tables do not exist yet. */
function readRow(connection: SqliteConnection): SqlRow | undefined {
	try {
		return connection.row(READ)
	} catch (error) {
		if (isSchemaMismatch(error)) return undefined
		throw error
	}
}

/** The migration stores 0: no time has been used yet. */
const toMark = ([time, wall, monotonic]: SqlRow): ClockMark | undefined =>
	time === 0 ? undefined : { time: Number(time), wall: Number(wall), monotonic: Number(monotonic) }

function save(connection: SqliteConnection, storedTime: number, step: ClockStep): void {
	const { time, wall, monotonic, extension, isSetBack } = step
	if (extension) for (const sql of EXTEND) connection.run(sql, extension.from, extension.byMs)
	if (extension || isSetBack || time >= storedTime + SAVE_EVERY_MS)
		connection.run(SAVE, time, wall, monotonic)
}
