/**
 * A client of `pg` that an ORM has checked out for its transaction. It shows its state and prepares statements as
 * the client does, and it notices that the pool has given the client to another caller: the ORM's object does not.
 */
import type { PgClient } from '../clients.ts'
import { OrmTransaction, property, transactionClosedError } from './orm-transaction.ts'

type PgState = { readonly getTransactionStatus: () => unknown } & Pick<PgClient, 'query'>

export const showsStatus = (client: unknown): client is PgState =>
	typeof property(client, 'getTransactionStatus') === 'function' &&
	typeof property(client, 'query') === 'function'

export class PgTransactionClient extends OrmTransaction {
	readonly #orm: string
	readonly #client: PgState
	/** The pool assigns another function whenever it gives the client to a caller. */
	readonly #release: unknown

	constructor(orm: string, client: PgState) {
		super({ orm, run: (text, values) => client.query(text, values), mustAsk: false })
		this.#orm = orm
		this.#client = client
		this.#release = property(client, 'release')
	}

	getTransactionStatus(): unknown {
		return this.#isReleased ? 'I' : this.#client.getTransactionStatus()
	}

	override get inTransaction(): boolean | undefined {
		return this.#isReleased ? false : undefined
	}

	get readyForQuery(): unknown {
		return this.#isReleased || property(this.#client, 'readyForQuery')
	}

	/** Shows the end of the transaction to what follows it. */
	get connection(): unknown {
		return property(this.#client, 'connection')
	}

	/** Not an async function: the query is sent before a COMMIT that does not await it. */
	override query(...given: [text: string, values?: unknown[]]): ReturnType<OrmTransaction['query']> {
		const isIdle = this.getTransactionStatus() === 'I' && this.readyForQuery !== false
		if (isIdle) return Promise.reject(transactionClosedError(this.#orm))
		return this.#client.query(...given)
	}

	get #isReleased(): boolean {
		return property(this.#client, 'release') !== this.#release
	}
}
