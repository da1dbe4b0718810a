/**
 * What is said when a message is enqueued outside of a transaction. It is the one mistake that an outbox can not mend: the message and what it tells
 * of are then two writes, of which a crash may leave one. So it is told by default, once; whoever means it says so.
 */
import { notify } from '../../core/engine/hooks.ts'
import { show, TransactionError } from '../message/errors.ts'
import { exposesState, isPGlite, isPool, transactionState } from '../notify/transaction-state.ts'
import type { Queryable } from '../store/queryable.ts'
import type { Store } from '../store/store.ts'

/** Where messages are enqueued. */
export interface EnqueueOptions {
	/** The transaction in which what the message tells of is written: a `pg` client, a transaction of PGlite, a database of `node:sqlite`. */
	readonly tx?: Queryable | undefined
	/** True says that it is meant to be in none: no warning, no refusal. Default false. */
	readonly withoutTransaction?: boolean | undefined
}

/** What happens when a message is enqueued outside of a transaction. */
export type OutsideTransaction = 'warn' | 'allow' | 'refuse'

const DANGER =
	'if the process dies in between, there is a message without the change it tells of, or the change without its message'

export class TransactionRule {
	readonly #store: Store
	readonly #mode: OutsideTransaction
	readonly #onWarning: (text: string) => void
	#hasWarned = false

	constructor(store: Store, mode: OutsideTransaction, onWarning: (text: string) => void) {
		this.#store = store
		this.#mode = mode
		this.#onWarning = onWarning
	}

	/** Before anything is written. Throws for a `tx` that can not be used, and for none where one is demanded. */
	before(options: EnqueueOptions): void {
		checkOptions(options)
		const { tx } = options
		if (tx !== undefined) this.#checkKind(tx)
		if (this.#mode === 'allow' || options.withoutTransaction === true) return
		const why = tx === undefined ? NO_TX : knownOutside(tx)
		// Somebody may have begun a transaction on PGlite by hand, and not every PGlite can tell: that is no reason to refuse.
		if (why === undefined && tx !== undefined && isPGlite(tx) && !exposesState(tx)) this.#warn(LIKELY_OUTSIDE)
		if (why === undefined) return
		if (this.#mode === 'refuse') throw new TransactionError(`${why}: ${DANGER}; ${this.#advice()}`)
		this.#warn(why)
	}

	/** After it was written: of a `tx` that can not tell by itself, the database may know that it was in no transaction. */
	after(options: EnqueueOptions, isInTransaction: boolean | undefined): void {
		const { tx } = options
		if (tx === undefined || isInTransaction !== false || this.#hasWarned) return
		if (this.#mode === 'allow' || options.withoutTransaction === true) return
		// One that can was asked before. By now it may be in none, for its COMMIT was sent right behind the message.
		if (!exposesState(tx)) this.#warn(OUTSIDE)
	}

	#checkKind(tx: Queryable): void {
		const isUsable = (typeof tx === 'object' || typeof tx === 'function') && tx !== null
		if (isUsable && this.#store.accepts(tx)) return
		const { kind } = this.#store
		throw new TransactionError(
			`tx: got ${show(tx)}, and the outbox's store is ${kind}; takes ${KINDS[kind] ?? `a transaction of ${kind}`}`,
		)
	}

	#warn(why: string): void {
		if (this.#hasWarned) return
		this.#hasWarned = true
		const text = `yaoki: ${why}: ${DANGER}. To do it right, ${this.#advice()}. This is said once.`
		notify('onWarning', this.#onWarning, text)
	}

	#advice(): string {
		const example = EXAMPLES[this.#store.kind] ?? 'enqueue(message, { tx }) between BEGIN and COMMIT'
		return `${example}; if it is meant to be in none, say { withoutTransaction: true }`
	}
}

const OUTSIDE = 'a message was enqueued with a tx that is in no transaction'
const LIKELY_OUTSIDE =
	'a message was enqueued with PGlite itself as tx, which most likely is in no transaction'
const NO_TX = 'a message was enqueued outside of a transaction, without `tx`'

/** What a store of the toolkit's own takes. */
const KINDS: Readonly<Record<string, string>> = {
	postgres: 'what has query(text, values): a pg client, PGlite or its transaction',
	sqlite: 'what has prepare(sql): a DatabaseSync of node:sqlite',
}

const PGLITE =
	'a message was enqueued with PGlite itself as tx, and it is in no transaction (what db.transaction hands over is)'

const EXAMPLES: Readonly<Record<string, string>> = {
	postgres:
		"client.query('BEGIN'), write your change, outbox.enqueue(message, { tx: client }), client.query('COMMIT'), all on one client of the pool",
	sqlite:
		"db = new DatabaseSync(file, { timeout: 5_000 }), db.exec('BEGIN IMMEDIATE'), write your change, await outbox.enqueue(message, { tx: db }), db.exec('COMMIT'), all on one DatabaseSync",
}

/** Why it can be known, before anything is written, that there is no transaction. */
function knownOutside(tx: Queryable): string | undefined {
	if (transactionState(tx) !== 'none') return undefined
	if (isPGlite(tx)) return PGLITE
	return isPool(tx)
		? 'a message was enqueued with a pool as tx, which is in no transaction since each query may go to another connection'
		: OUTSIDE
}

function checkOptions(options: EnqueueOptions): void {
	const isObject = typeof options === 'object' && options !== null
	if (isObject && !('query' in options || 'prepare' in options)) {
		for (const name in options) {
			if (name !== 'tx' && name !== 'withoutTransaction') refuseOptions(`there is no option '${name}'`)
		}
	} else refuseOptions(`got ${show(options)}${isObject ? ' itself; hand it over as { tx }' : ''}`)
}

function refuseOptions(why: string): never {
	throw new TransactionError(`the options of enqueue: ${why}; takes { tx, withoutTransaction }`)
}
