/**
 * Processes a message once: writes its mark in the user's transaction, runs the function, and checks that the
 * transaction still holds both. The two public forms have the same steps; the synchronous one is for SQLite.
 *
 * A mark must never be committed without its effect: the sender's next delivery would be a duplicate, and the
 * message would be lost. So a mark is removed again if the function fails, also if its transaction has ended by
 * then. An effect without a mark is the smaller harm, and has one cause: a function that ends the transaction
 * and begins another one.
 */
import { errorFacts } from '../../core/events/error-facts.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import { withTimeout } from '../../core/runtime/sleep.ts'
import { isSqlClient, type Queryable, type SqlClient } from '../../sql/clients.ts'
import { isTransactionClosed } from '../../sql/orms/orm-transaction.ts'
import { isFailedTransaction } from '../../sql/postgres-errors.ts'
import { serverStatus, transactionState, untilStateIsKnown } from '../../sql/transaction-state.ts'
import { checkMessageId, checkTransaction } from './checks.ts'
import { InboxConflictError, InboxStoreError, InboxTransactionError } from './errors.ts'
import type { InboxEvent } from './events.ts'
import type { InboxSettings } from './inbox-options.ts'
import type { MarkResult, NewMark } from './store/store.ts'

/** What `once` returns. `value` is what the function returned. */
export type Processed<T> =
	| { readonly isDuplicate: false; readonly value: T }
	| { readonly isDuplicate: true; readonly value?: undefined }

/** One call of `once`. */
interface Delivery {
	readonly tx: Queryable
	readonly mark: NewMark
	readonly startedAt: number
}

const DUPLICATE: Processed<never> = Object.freeze({ isDuplicate: true })

/** About how soon the sender should repeat a message that is in flight. */
const RETRY_AFTER_MS = 1_000

/** The caller waits for it with the error of its function. Longer than the store's own connection may take. */
const UNMARK_LIMIT_MS = 15_000

const ENDED =
	'The transaction of tx ended before inbox.once returned: what was written after its end is not in one transaction with the mark. Await inbox.once(...) before COMMIT, and call neither COMMIT nor ROLLBACK in its function.'
const NOT_AWAITED =
	'The transaction of tx ended before the message was processed, so the function did not run and the mark was removed. Await inbox.once(...) before COMMIT.'
const FAILED =
	'A statement of the transaction of tx failed, so its COMMIT rolls back the mark and your changes. Roll back, and let the error of the statement pass through the function of inbox.once.'

export class Processor {
	readonly #settings: InboxSettings
	readonly #emitter: Emitter<InboxEvent>

	constructor(settings: InboxSettings, emitter: Emitter<InboxEvent>) {
		this.#settings = settings
		this.#emitter = emitter
	}

	async once<T>(messageId: unknown, options: unknown, fn: () => T | PromiseLike<T>): Promise<Processed<T>> {
		const delivery = this.#begin(messageId, options, fn)
		const { tx, mark } = delivery
		try {
			const marked = this.#settings.store.mark(tx, mark)
			// Nothing runs between the mark and the function on SQLite, where other callers share the transaction.
			const result = typeof marked === 'string' ? marked : await marked
			if (result === 'ended') await this.#settings.store.unmark(undefined, mark)
			if (this.#isDuplicate(result, mark)) return DUPLICATE
			const value = await this.#run(delivery, fn)
			if (isSqlClient(tx)) await this.#readState(tx)
			this.#checkOpen(tx)
			this.#emitProcessed(delivery)
			return { isDuplicate: false, value }
		} catch (error) {
			this.#emitFailed(delivery, error)
			throw error
		}
	}

	onceSync<T>(messageId: unknown, options: unknown, fn: () => T): Processed<T> {
		const { store } = this.#settings
		if (!store.isSynchronous) {
			const reason = `the store ${store.kind} has no synchronous driver`
			throw new InboxStoreError(
				'process synchronously',
				reason,
				'Use await inbox.once(messageId, { tx }, fn).',
			)
		}
		const delivery = this.#begin(messageId, options, fn)
		const { tx, mark } = delivery
		try {
			if (this.#isDuplicate(store.mark(tx, mark) as MarkResult, mark)) return DUPLICATE
			const value = this.#runSync(delivery, fn)
			this.#checkOpen(tx)
			this.#emitProcessed(delivery)
			return { isDuplicate: false, value }
		} catch (error) {
			this.#emitFailed(delivery, error)
			throw error
		}
	}

	#begin(messageId: unknown, options: unknown, fn: unknown): Delivery {
		const { store, name, retentionMs, onConflict, runtime } = this.#settings
		const id = checkMessageId(messageId)
		const tx = checkTransaction(store, options)
		if (typeof fn !== 'function') invalidArgument('fn', fn, 'a function')
		const token = Math.floor(runtime.random() * 2 ** 53)
		return {
			tx,
			mark: { inbox: name, messageId: id, token, retentionMs, rejectsConflict: onConflict === 'reject' },
			startedAt: runtime.now(),
		}
	}

	/** Throws if the message must not be processed now. */
	#isDuplicate(result: MarkResult, { messageId }: NewMark): boolean {
		if (result === 'marked') return false
		if (result === 'conflict') {
			// The deliveries that wait for one message have different waits.
			const retryAfterMs = RETRY_AFTER_MS * (0.5 + this.#settings.runtime.random() / 2)
			throw new InboxConflictError(messageId, Math.round(retryAfterMs))
		}
		if (result === 'ended') throw new InboxTransactionError('ended', NOT_AWAITED)
		if (result === 'outside-transaction')
			throw new InboxTransactionError(
				'outside-transaction',
				'tx has no open transaction, so the mark and your changes would be separate writes. Call BEGIN, inbox.once(messageId, { tx }, fn) and COMMIT on one connection.',
			)
		this.#emitter.emit({ type: 'inbox_duplicate', messageId })
		return true
	}

	async #run<T>(delivery: Delivery, fn: () => T | PromiseLike<T>): Promise<T> {
		try {
			return await fn()
		} catch (error) {
			// In a transaction that has failed, or lost its connection, this fails too, and nothing can be committed. On a
			// connection that no longer responds it never ends, and a COMMIT would come after it.
			await withTimeout(this.#settings.runtime, UNMARK_LIMIT_MS, this.#unmark(delivery)).catch(() => {})
			throw error
		}
	}

	#runSync<T>(delivery: Delivery, fn: () => T): T {
		try {
			const value = fn()
			if (typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function')
				invalidArgument(
					'fn',
					value,
					'a function that returns no promise. Use await inbox.once(messageId, { tx }, fn)',
				)
			return value
		} catch (error) {
			// SQLite may have rolled the transaction back by itself, for example because the disk is full.
			this.#unmark(delivery).catch(() => {})
			throw error
		}
	}

	/** Removes the mark of a message whose function failed: a caller that catches the error may still commit. */
	async #unmark({ tx, mark }: Delivery): Promise<void> {
		if (serverStatus(tx) === 'E') return
		const { store } = this.#settings
		try {
			// Without a transaction, the client may soon have one of another caller: the store uses its own connection.
			await store.unmark(transactionState(tx) === 'none' ? undefined : tx, mark)
		} catch (error) {
			// Some ORMs show only by this error that their transaction has ended. It may have been committed.
			if (!isTransactionClosed(error)) throw error
			await store.unmark(undefined, mark)
		}
	}

	/** Waits until the client shows its state. Only a client that never shows it is asked, for a round trip. */
	async #readState(tx: SqlClient): Promise<void> {
		if (serverStatus(tx) !== undefined) return untilStateIsKnown(tx)
		try {
			await tx.query('select 1', [])
		} catch (error) {
			if (isFailedTransaction(error)) throw new InboxTransactionError('failed', FAILED)
			throw isTransactionClosed(error) ? new InboxTransactionError('ended', ENDED) : error
		}
	}

	#checkOpen(tx: Queryable): void {
		if (serverStatus(tx) === 'E') throw new InboxTransactionError('failed', FAILED)
		if (transactionState(tx) === 'none') throw new InboxTransactionError('ended', ENDED)
	}

	#emitProcessed({ mark: { messageId }, startedAt }: Delivery): void {
		if (!this.#emitter.hasListeners) return
		const durationMs = this.#settings.runtime.now() - startedAt
		this.#emitter.emit({ type: 'inbox_processed', messageId, durationMs })
	}

	#emitFailed({ mark: { messageId }, startedAt }: Delivery, error: unknown): void {
		if (!this.#emitter.hasListeners) return
		if (error instanceof InboxConflictError) {
			this.#emitter.emit({ type: 'inbox_conflict', messageId, retryAfterMs: error.retryAfterMs })
			return
		}
		const durationMs = this.#settings.runtime.now() - startedAt
		this.#emitter.emit({ type: 'inbox_failed', messageId, durationMs, ...errorFacts(error) })
	}
}
