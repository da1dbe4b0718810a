/**
 * Learns of a commit without touching the user's transaction: nothing is wrapped, nothing is asked of the database. A `pg` client hears the
 * server's state with every answer; `node:sqlite` has a property to look at; of anything else nothing is known, and it is guessed. A
 * rollback can not be told from a commit, and need not be: a relay that is woken for nothing goes back to sleep.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { isSqlClient, type Queryable } from '../store/queryable.ts'
import { BlindNotifier, CommitPoller, type Watch } from './commit-polling.ts'
import { serverStatus, transactionState } from './transaction-state.ts'

/** Of a `pg` client: where its connection's messages can be heard. */
interface PgConnection {
	on(event: string, listener: (message: { readonly status?: unknown }) => void): unknown
	removeListener(event: string, listener: (message: { readonly status?: unknown }) => void): unknown
}

/** Told the destinations of what has been committed, or may have been. */
export type OnCommit = (destinations: ReadonlySet<string>) => void

export class CommitWatch {
	readonly #runtime: Runtime
	readonly #onCommit: OnCommit
	/** One for each client, however many messages are enqueued by it. */
	readonly #watches = new Map<Queryable, Watch>()
	#guess: BlindNotifier | undefined

	constructor(runtime: Runtime, onCommit: OnCommit) {
		this.#runtime = runtime
		this.#onCommit = onCommit
	}

	/** Messages were written by `tx`. `isInTransaction` is what the database knows about it. */
	follow(
		tx: Queryable | undefined,
		destinations: ReadonlySet<string>,
		isInTransaction: boolean | undefined,
	): void {
		if (tx === undefined || hasEnded(tx, isInTransaction)) this.#onCommit(destinations)
		else {
			const watch = this.#watches.get(tx)
			if (watch !== undefined) watch.add(destinations)
			else this.#begin(tx, destinations)
		}
	}

	close(): void {
		for (const watch of this.#watches.values()) watch.stop()
		this.#watches.clear()
		this.#guess?.stop()
		this.#guess = undefined
	}

	#begin(tx: Queryable, destinations: ReadonlySet<string>): void {
		const connection = connectionOf(tx)
		if (connection === undefined && transactionState(tx) === 'unknown') {
			this.#guess ??= new BlindNotifier(this.#runtime, this.#onCommit)
			this.#guess.add(destinations)
			return
		}
		const ended = (pending: ReadonlySet<string>) => {
			this.#watches.delete(tx)
			this.#onCommit(pending)
		}
		const watch =
			connection === undefined
				? new CommitPoller(
						this.#runtime,
						() => transactionState(tx) !== 'open',
						ended,
						() => this.#watches.delete(tx),
					)
				: new Listening(connection, ended)
		this.#watches.set(tx, watch)
		watch.add(destinations)
	}
}

/** Listens until the server says that it is in no transaction, or the connection is gone. */
class Listening implements Watch {
	readonly #connection: PgConnection
	readonly #ended: OnCommit
	readonly #destinations = new Set<string>()

	constructor(connection: PgConnection, ended: OnCommit) {
		this.#connection = connection
		this.#ended = ended
		connection.on('readyForQuery', this.#hear)
		connection.on('end', this.#end)
	}

	add(destinations: ReadonlySet<string>): void {
		for (const destination of destinations) this.#destinations.add(destination)
	}

	stop(): void {
		this.#connection.removeListener('readyForQuery', this.#hear)
		this.#connection.removeListener('end', this.#end)
	}

	readonly #hear = (message: { readonly status?: unknown }): void => {
		if (message.status === 'I') this.#end()
	}

	readonly #end = (): void => {
		this.stop()
		this.#ended(this.#destinations)
	}
}

/** Is it known that what was just written has been committed already? */
function hasEnded(tx: Queryable, isInTransaction: boolean | undefined): boolean {
	const state = transactionState(tx)
	if (state !== 'unknown') return state === 'none'
	// The write was answered: were it in a transaction that is still open, the server would have said so.
	return isInTransaction === false || serverStatus(tx) === 'I'
}

function connectionOf(tx: Queryable): PgConnection | undefined {
	if (!isSqlClient(tx)) return undefined
	const { connection } = tx as { readonly connection?: Partial<PgConnection> | null }
	if (typeof connection?.on !== 'function' || typeof connection.removeListener !== 'function')
		return undefined
	return connection as PgConnection
}
