/**
 * Notices a commit without touching the user's transaction: no wrapper around the client and no extra query.
 * A `pg` client receives the transaction state with every response, and `node:sqlite` has a property. For other
 * clients the state is unknown, and relays are notified without it. A rollback looks like a commit, which does
 * no harm: a relay that is woken and finds nothing goes back to sleep.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { isSqlClient, type Queryable } from '../../sql/clients.ts'
import { serverStatus, transactionState } from '../../sql/transaction-state.ts'
import type { OnCommit, TransactionWatch } from './commit-polling.ts'
import { BLIND_DELAYS_MS, POLL_DELAYS_MS, StepTimer } from './commit-polling.ts'

type ServerListener = (message: { readonly status?: unknown }) => void

/** The part of a `pg` client that emits the server's messages. */
interface PgConnection {
	on(event: string, listener: ServerListener): unknown
	removeListener(event: string, listener: ServerListener): unknown
}

export class CommitWatch {
	readonly #runtime: Runtime
	readonly #onCommit: OnCommit
	/** One per client, however many messages it writes. */
	readonly #watches = new Map<Queryable, TransactionWatch>()
	#blindNotifier: TransactionWatch | undefined

	constructor(runtime: Runtime, onCommit: OnCommit) {
		this.#runtime = runtime
		this.#onCommit = onCommit
	}

	/**
	 * Reports `destinations` when `tx`, which wrote messages to them, is committed. `isInTransaction` is what the
	 * store knows.
	 */
	follow(tx: Queryable | undefined, destinations: ReadonlySet<string>, isInTransaction?: boolean): void {
		if (tx === undefined || isCommitted(tx, isInTransaction)) this.#onCommit(destinations)
		else {
			const watch = this.#watches.get(tx)
			if (watch !== undefined) watch.add(destinations)
			else this.#start(tx, destinations)
		}
	}

	close(): void {
		for (const watch of this.#watches.values()) watch.stop()
		this.#watches.clear()
		this.#blindNotifier?.stop()
		this.#blindNotifier = undefined
	}

	#start(tx: Queryable, destinations: ReadonlySet<string>): void {
		const connection = pgConnection(tx)
		if (connection === undefined && transactionState(tx) === 'unknown') {
			this.#blindNotifier ??= this.#notifyBlindly()
			this.#blindNotifier.add(destinations)
			this.#onCommit(destinations)
			return
		}
		const remove = () => this.#watches.delete(tx)
		const onEnd = (pending: ReadonlySet<string>) => {
			remove()
			this.#onCommit(pending)
		}
		const poll = (pending: ReadonlySet<string>) => {
			const hasEnded = transactionState(tx) !== 'open'
			if (hasEnded) onEnd(pending)
			return hasEnded
		}
		const watch = connection
			? new ConnectionListener(connection, onEnd)
			: new StepTimer(this.#runtime, POLL_DELAYS_MS, poll, remove)
		this.#watches.set(tx, watch)
		watch.add(destinations)
	}

	/** Serves all transactions whose state is unknown. */
	#notifyBlindly(): TransactionWatch {
		const notify = (pending: ReadonlySet<string>) => {
			this.#onCommit(pending)
			return false
		}
		return new StepTimer(this.#runtime, BLIND_DELAYS_MS, notify, (pending) => pending.clear())
	}
}

/** Listens until the server reports that no transaction is open, or until the connection ends. */
class ConnectionListener implements TransactionWatch {
	readonly #connection: PgConnection
	readonly #onEnd: OnCommit
	readonly #destinations = new Set<string>()

	constructor(connection: PgConnection, onEnd: OnCommit) {
		this.#connection = connection
		this.#onEnd = onEnd
		connection.on('readyForQuery', this.#onReady)
		connection.on('end', this.#finish)
	}

	add(destinations: ReadonlySet<string>): void {
		for (const destination of destinations) this.#destinations.add(destination)
	}

	stop(): void {
		this.#connection.removeListener('readyForQuery', this.#onReady)
		this.#connection.removeListener('end', this.#finish)
	}

	readonly #onReady: ServerListener = ({ status }) => {
		if (status === 'I') this.#finish()
	}

	readonly #finish = (): void => {
		this.stop()
		this.#onEnd(this.#destinations)
	}
}

function isCommitted(tx: Queryable, isInTransaction: boolean | undefined): boolean {
	const state = transactionState(tx)
	if (state !== 'unknown') return state === 'none'
	// The response to the write has arrived; in an open transaction its status would be 'T'.
	return isInTransaction === false || serverStatus(tx) === 'I'
}

function pgConnection(tx: Queryable): PgConnection | undefined {
	if (!isSqlClient(tx)) return undefined
	const { connection } = tx as { readonly connection?: Partial<PgConnection> | null }
	if (typeof connection?.on !== 'function' || typeof connection.removeListener !== 'function')
		return undefined
	return connection as PgConnection
}
