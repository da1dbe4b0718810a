/**
 * Transactions of users. They stay open while the user's function awaits, so no other operation of the store
 * may run on their connection: it would become a part of them, or would read what may be rolled back. A file
 * is opened a second time, and SQLite's locks separate the two; reads, which include replays, do not wait. A
 * database in memory has only one connection, and every operation waits until the transaction has ended.
 *
 * SQLite has one writer at a time, so meanwhile the claims and heartbeats of all processes wait. No
 * other request can take over a key during the transaction.
 */
import type { Runtime } from '../../../core/runtime/runtime.ts'
import { sleep } from '../../../core/runtime/sleep.ts'
import type { SqliteClock } from '../../../sql/clock/sqlite-clock.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { busyPauseMs, isBusy, mayWaitForBusy } from '../../../sql/sqlite-errors.ts'

const ignore = (): void => {}

export class OpenTransactions {
	readonly #connection: SqliteConnection
	readonly #runtime: Runtime
	readonly #clock: SqliteClock | undefined
	readonly #ready: () => Promise<void>
	#latest: Promise<unknown> | undefined

	/** `clock` is undefined if the connection has its own. `ready` resolves when no earlier operation is left. */
	constructor(
		connection: SqliteConnection,
		runtime: Runtime,
		clock: SqliteClock | undefined,
		ready: () => Promise<void>,
	) {
		this.#ready = ready
		this.#connection = connection
		this.#runtime = runtime
		this.#clock = clock
	}

	/** Settles when the latest transaction has ended; undefined if none is open. */
	get latest(): Promise<unknown> | undefined {
		return this.#latest
	}

	/** Runs `work` in a transaction, after those before it. `timed` runs an operation of the store in it. */
	run<T>(work: (timed: <R>(operation: () => R) => R) => Promise<T>): Promise<T> {
		const result = (this.#latest ?? Promise.resolve()).then(this.#ready).then(() => this.#transact(work))
		const settled = result.then(ignore, ignore).then(() => {
			if (this.#latest === settled) this.#latest = undefined
		})
		this.#latest = settled
		return result
	}

	async #transact<T>(work: (timed: <R>(operation: () => R) => R) => Promise<T>): Promise<T> {
		const committed: (() => void)[] = []
		await this.#begin()
		try {
			const value = await work((operation) => {
				if (!this.#clock) return operation()
				const { result, onCommit } = this.#clock.during(this.#connection, true, operation)
				committed.push(onCommit)
				return result
			})
			this.#connection.exec('COMMIT')
			for (const onCommit of committed) onCommit()
			return value
		} catch (error) {
			try {
				this.#connection.exec('ROLLBACK')
			} catch {
				// SQLite already rolled back by itself, for example because the disk is full.
			}
			throw error
		}
	}

	async #begin(): Promise<void> {
		const startedAt = this.#runtime.now()
		for (let tries = 0; ; tries++) {
			try {
				this.#connection.exec('BEGIN IMMEDIATE')
				return
			} catch (error) {
				if (!isBusy(error) || !mayWaitForBusy(tries, this.#runtime.now() - startedAt)) throw error
			}
			await sleep(this.#runtime, busyPauseMs(tries, this.#runtime.random()))
		}
	}
}
