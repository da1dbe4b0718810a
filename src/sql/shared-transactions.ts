/**
 * Finds rows that are written into a transaction of an earlier turn of the event loop. All callers of a
 * process share the transaction of a connection, so if one of them uses `await` between BEGIN and COMMIT, the
 * writes of others become a part of it, and its ROLLBACK removes them.
 *
 * A transaction has no identity that SQLite shows. But a row that the user's connection sees and the store's
 * own does not is in no other transaction than the one that is open now. So the latest row of each connection
 * is remembered, unless its transaction ended within the turn, as synchronous ones do: then nothing is ever
 * asked.
 *
 * Rejected: comparing callers by AsyncLocalStorage. Two functions that one caller awaits differ as much as
 * two callers do. And only the store's own rows are seen: a caller that has only written rows of its own
 * leaves no trace.
 */
import type { SqliteClient } from './clients.ts'
import { runOn } from './sqlite-client.ts'
import type { SqliteConnection, SqlParam } from './sqlite-connection.ts'
import { transactionState } from './transaction-state.ts'

/** Identifies a row: the parameters of the statement that finds it. */
type RowKey = readonly SqlParam[]

interface Written {
	key: RowKey
	/** True after the turn in which the row was written. */
	isEarlier: boolean
}

export class SharedTransactions {
	readonly #own: SqliteConnection
	readonly #find: string
	readonly #latest = new WeakMap<SqliteClient, Written>()

	/** `own` is the connection of the store, `find` the statement that finds a row by its key. */
	constructor(own: SqliteConnection, find: string) {
		this.#own = own
		this.#find = find
	}

	/** Returns true if the open transaction of `tx` has a row of an earlier turn. */
	isShared(tx: SqliteClient): boolean {
		const written = this.#latest.get(tx)
		if (!written?.isEarlier) return false
		this.#latest.delete(tx)
		try {
			return (
				runOn(tx)(this.#find, ...written.key).length > 0 &&
				this.#own.row(this.#find, ...written.key) === undefined
			)
		} catch {
			// It is only a hint. The insert reports what is wrong.
			return false
		}
	}

	/** Remembers a row that was written in the open transaction of `tx`. */
	record(tx: SqliteClient, key: RowKey): void {
		// In memory there is one connection. In a transaction of its own, or not open yet, the store's cannot
		// show what is committed.
		if (!this.#own.isOpen || this.#own.database === tx || this.#own.isInTransaction !== false) return
		const known = this.#latest.get(tx)
		if (known && !known.isEarlier) {
			known.key = key
			return
		}
		const written = { key, isEarlier: false }
		this.#latest.set(tx, written)
		queueMicrotask(() => {
			if (transactionState(tx) === 'open') written.isEarlier = true
			else this.#latest.delete(tx)
		})
	}
}
