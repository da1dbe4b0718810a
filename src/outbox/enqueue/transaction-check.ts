/**
 * Warns or rejects when a message is enqueued outside a transaction: the message and the change that it
 * announces are then two writes, and a crash can lose one of them. The default is a warning, once.
 */
import { notify } from '../../core/options/hooks.ts'
import { checkNames, invalidOption, type OptionSchema } from '../../core/options/schema.ts'
import { isPGlite, POSTGRES_TX, type Queryable, SQLITE_TX, type SqliteClient } from '../../sql/clients.ts'
import { isOrmTransaction } from '../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../sql/orms/recognize.ts'
import { exposesState, isPool, transactionState } from '../../sql/transaction-state.ts'
import { OutboxTransactionError, show } from '../message/errors.ts'
import { OutboxStoreError } from '../store/errors.ts'
import type { InsertResult } from '../store/rows.ts'
import type { OutboxStore, SyncEnqueueStore } from '../store/store.ts'

/** Options of `outbox.enqueue`, its second argument. */
export interface EnqueueOptions {
	/**
	 * The transaction that writes the change which the message announces: a `pg` client, a PGlite transaction,
	 * a database of `node:sqlite` or `better-sqlite3`, or the transaction of an ORM through its function, such
	 * as `prismaTx(tx)`.
	 */
	readonly tx?: Queryable | undefined
	/** Set to true to enqueue outside a transaction on purpose: no warning, no error. Default false. */
	readonly withoutTransaction?: boolean | undefined
}

/** Options of `enqueueSync`. */
export interface EnqueueSyncOptions extends EnqueueOptions {
	/** The database with the transaction that writes the change which the message announces, of `node:sqlite` or `better-sqlite3`. */
	readonly tx: SqliteClient
}

const OPTIONS: OptionSchema = { tx: 'any', withoutTransaction: 'any' }

/** What to do when a message is enqueued outside a transaction. */
export type OutsideTransaction = 'warn' | 'allow' | 'reject'

const CONSEQUENCE =
	'if the process crashes between the two writes, the message or your database change is lost'

/** The outbox checks only this many messages of clients without state: the check can cost a round trip. */
const MAX_QUESTIONS = 20

export class TransactionCheck {
	readonly #store: OutboxStore
	readonly #mode: OutsideTransaction
	readonly #onWarning: (text: string) => void
	#hasWarned = false
	#hasWarnedShared = false
	#questions = 0

	constructor(store: OutboxStore, mode: OutsideTransaction, onWarning: (text: string) => void) {
		this.#store = store
		this.#mode = mode
		this.#onWarning = onWarning
	}

	/** Throws for an unusable `tx`, and outside a transaction in mode 'reject'. */
	beforeInsert(options: EnqueueOptions): void {
		checkOptions(options)
		const { tx } = options
		if (tx !== undefined) this.#checkDatabase(tx)
		if ((this.#mode === 'allow' && !isOrmTransaction(tx)) || options.withoutTransaction === true) return
		const problem = tx === undefined ? NO_TX : outsideProblem(tx)
		if (problem !== undefined) this.reportOutside(tx, problem)
	}

	/**
	 * Returns true if only the database knows whether a transaction is open: always if it would reject, and for
	 * the first messages if it would warn, because the question can cost a round trip.
	 */
	mustAskDatabase({ tx, withoutTransaction }: EnqueueOptions): boolean {
		if (tx === undefined || withoutTransaction === true) return false
		if (isOrmTransaction(tx)) return tx.mustAsk
		if (this.#mode === 'allow' || exposesState(tx)) return false
		if (this.#mode === 'reject') return true
		return !this.#hasWarned && this.#questions++ < MAX_QUESTIONS
	}

	/** Throws or warns because no transaction is open. For a transaction of an ORM it always throws: it has ended. */
	reportOutside(tx: Queryable | undefined, problem: string = NO_TRANSACTION): void {
		if (this.#mode === 'reject' || isOrmTransaction(tx))
			throw new OutboxTransactionError('outside-transaction', `${problem}: ${CONSEQUENCE}. ${this.#advice()}`)
		this.#warn(problem)
	}

	/** Throws what `beforeInsert` throws, and without `tx` and for a store that cannot write within a call. */
	beforeSyncInsert(options: EnqueueSyncOptions): {
		readonly tx: SqliteClient
		readonly store: SyncEnqueueStore
	} {
		checkOptions(options)
		if (!isSyncStore(this.#store)) {
			const reason = `the store ${this.#store.kind} has no synchronous driver`
			const advice = 'Use await outbox.enqueue(message, { tx }).'
			throw new OutboxStoreError('enqueue synchronously', reason, advice)
		}
		if (options.tx === undefined)
			invalidOption('tx', undefined, 'the database with the open transaction, such as { tx: db }')
		this.beforeInsert(options)
		return { tx: options.tx, store: this.#store }
	}

	/** Warns if only the database knows that `tx` has no transaction, or that another caller may have opened it. */
	afterInsert(options: EnqueueOptions, { isInTransaction, isShared }: InsertResult): void {
		const { tx } = options
		if (isShared && !this.#hasWarnedShared && this.#mode !== 'allow') {
			this.#hasWarnedShared = true
			notify('onWarning', this.#onWarning, SHARED)
		}
		if (tx === undefined || isInTransaction !== false || this.#hasWarned) return
		if (this.#mode === 'allow' || options.withoutTransaction === true) return
		// A client with state was checked before. By now it may be idle after its COMMIT.
		if (!exposesState(tx)) this.#warn(NO_TRANSACTION)
	}

	#checkDatabase(tx: Queryable): void {
		const isObject = (typeof tx === 'object' || typeof tx === 'function') && tx !== null
		if (isObject && this.#store.accepts(tx)) return
		const { kind } = this.#store
		const expected = EXPECTED_TX[kind] ?? `a transaction of ${kind}`
		const orm = recognizeOrm(tx, 'yaoki/outbox', kind)
		const got = isOrmTransaction(tx) ? tx.description : show(tx)
		const problem = orm ? `got ${got} of ${orm.name}. Pass ${orm.pass}` : `expected ${expected}, got ${got}`
		const text = `Invalid tx for an outbox with the store ${kind}: ${problem}`
		throw new OutboxTransactionError('wrong-database', text)
	}

	#warn(problem: string): void {
		if (this.#hasWarned) return
		this.#hasWarned = true
		const text = `yaoki: ${problem}: ${CONSEQUENCE}. ${this.#advice()} This warning is printed once.`
		notify('onWarning', this.#onWarning, text)
	}

	#advice(): string {
		const example = EXAMPLES[this.#store.kind] ?? 'call enqueue(message, { tx }) between BEGIN and COMMIT'
		return `Fix: ${example}. If it is on purpose, pass { withoutTransaction: true }.`
	}
}

const isSyncStore = (store: OutboxStore): store is OutboxStore & SyncEnqueueStore =>
	typeof store.insertSync === 'function'

const SHARED =
	'yaoki: message enqueued in an SQLite transaction that was open in an earlier turn of the event loop. If another caller of the connection opened it, its ROLLBACK removes your writes and the message. Fix: call BEGIN, outbox.enqueueSync(message, { tx: db }) and COMMIT without an await in between, or open a connection for each transaction that needs one. This warning is printed once.'
const NO_TRANSACTION = 'message enqueued with a tx that has no open transaction'
const NO_TX = 'message enqueued outside a transaction (without tx)'
const PGLITE =
	'message enqueued with PGlite itself as tx, which has no open transaction (use the one that db.transaction() passes to its callback)'
const POOL =
	'message enqueued with a pool as tx, which has no open transaction because each query may use another connection'

const EXPECTED_TX: Readonly<Record<string, string>> = { postgres: POSTGRES_TX, sqlite: SQLITE_TX }

const EXAMPLES: Readonly<Record<string, string>> = {
	postgres:
		"on one client of the pool, call client.query('BEGIN'), write your change, outbox.enqueue(message, { tx: client }), client.query('COMMIT')",
	sqlite:
		"on one db = new DatabaseSync(file, { timeout: 5_000 }), call db.exec('BEGIN IMMEDIATE'), write your change, outbox.enqueueSync(message, { tx: db }), db.exec('COMMIT')",
}

/** Returns the problem if it is certain, before the insert, that no transaction is open. */
function outsideProblem(tx: Queryable): string | undefined {
	if (transactionState(tx) !== 'none') return undefined
	if (isPGlite(tx)) return PGLITE
	return isPool(tx) ? POOL : NO_TRANSACTION
}

/** A loop instead of checkNames alone: this runs for every message, and checkNames allocates. */
function checkOptions(options: EnqueueOptions): void {
	if (typeof options !== 'object' || options === null || 'query' in options || 'prepare' in options)
		invalidOption('options', options, 'an object such as { tx: client }')
	for (const name in options) if (name !== 'tx' && name !== 'withoutTransaction') checkNames(options, OPTIONS)
}
