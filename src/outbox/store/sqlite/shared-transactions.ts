/**
 * Finds messages that are written into a transaction of an earlier turn of the event loop. All callers of a
 * process share the transaction of a connection, so if one of them uses `await` between BEGIN and COMMIT, the
 * writes of others become a part of it, and its ROLLBACK removes them.
 *
 * A transaction has no identity that SQLite shows. But a message that the user's connection sees and the
 * store's own does not is in no other transaction than the one that is open now. So the latest message of
 * each connection is remembered, unless its transaction ended within the turn, as synchronous ones do: then
 * nothing is ever asked.
 *
 * Rejected: comparing callers by AsyncLocalStorage. Two functions that one caller awaits differ as much as
 * two callers do. And only the outbox's own messages are seen: a caller that has only written rows of its own
 * leaves no trace.
 */
import type { SqliteClient } from '../../../sql/clients.ts'
import { runOn } from '../../../sql/sqlite-client.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'
import { transactionState } from '../../../sql/transaction-state.ts'

const FIND = 'SELECT 1 FROM yaoki_outbox WHERE id = ?1'

interface Written {
	id: string
	/** True after the turn in which the message was written. */
	isEarlier: boolean
}

export class SharedTransactions {
	readonly #own: SqliteConnection
	readonly #latest = new WeakMap<SqliteClient, Written>()

	/** `own` is the connection of the store. */
	constructor(own: SqliteConnection) {
		this.#own = own
	}

	/** Returns true if the open transaction of `tx` has a message of an earlier turn. */
	isShared(tx: SqliteClient): boolean {
		const written = this.#latest.get(tx)
		if (!written?.isEarlier) return false
		this.#latest.delete(tx)
		try {
			return runOn(tx)(FIND, written.id).length > 0 && this.#own.row(FIND, written.id) === undefined
		} catch {
			// It is only a hint. The insert reports what is wrong.
			return false
		}
	}

	/** Remembers a message that was written in the open transaction of `tx`. */
	record(tx: SqliteClient, id: string): void {
		// In memory there is one connection. In a transaction of its own, or not open yet, the store's cannot
		// show what is committed.
		if (!this.#own.isOpen || this.#own.database === tx || this.#own.isInTransaction !== false) return
		const known = this.#latest.get(tx)
		if (known && !known.isEarlier) {
			known.id = id
			return
		}
		const written = { id, isEarlier: false }
		this.#latest.set(tx, written)
		queueMicrotask(() => {
			if (transactionState(tx) === 'open') written.isEarlier = true
			else this.#latest.delete(tx)
		})
	}
}
