/**
 * The front of the outbox: what an application holds. It takes messages, and answers what became of them; sending them is a relay's work,
 * in this process or in another.
 */
import { checkNames, invalidOption } from '../core/options/schema.ts'
import type { Runtime } from '../core/runtime/runtime.ts'
import { byBatches } from './dead-letters/batches.ts'
import { DeadLetters } from './dead-letters/dead-letters.ts'
import type { PageOptions } from './dead-letters/options.ts'
import { type OutboxStats, readStats } from './diagnostics/stats.ts'
import { whyNotSent } from './diagnostics/why.ts'
import { RowBuilder } from './enqueue/build-rows.ts'
import { type EnqueueOptions, TransactionCheck } from './enqueue/transaction-check.ts'
import { isMessageId, type MessageFilter, toFilter } from './message/filter.ts'
import type { EnqueueResult, MessageFor, MessageRecord, Topics } from './message/message.ts'
import { toRecord } from './message/record.ts'
import type { LocalRelay } from './notify/relay-notifier.ts'
import { RelayNotifier } from './notify/relay-notifier.ts'
import { type OutboxOptions, readOutboxOptions } from './outbox-options.ts'
import type { InsertResult, NewRow } from './store/rows.ts'
import type { MigrationReport, Store } from './store/store.ts'

const NONE: EnqueueOptions = Object.freeze({})
const PAGE = 100

/**
 * Messages that are written in your own transaction, and sent afterwards whatever happens to this process.
 *
 * @example
 * const outbox = new Outbox({ store: postgresStore({ client: pool }), topics: { 'order.created': OrderCreated } })
 * await client.query('BEGIN')
 * await client.query('INSERT INTO orders ...')
 * await outbox.enqueue({ topic: 'order.created', payload: order }, { tx: client })
 * await client.query('COMMIT')
 */
export class Outbox<T extends Topics = Topics> {
	/** @internal */
	readonly store: Store
	/** @internal Are messages kept when they were sent? */
	readonly keepsHistory: boolean
	/** @internal For how long; undefined for good. */
	readonly historyForMs: number | undefined
	/** Messages that could not be sent: list, replay, edit, discard. */
	readonly dead: DeadLetters
	readonly #rowBuilder: RowBuilder
	readonly #transactionCheck: TransactionCheck
	readonly #notifier: RelayNotifier
	readonly #runtime: Runtime
	#closed: Promise<void> | undefined

	constructor(options: OutboxOptions<T>) {
		const settings = readOutboxOptions(options)
		const { store, keepsHistory, runtime, maxPayloadBytes, schemas } = settings
		this.store = store
		this.keepsHistory = keepsHistory
		this.historyForMs = settings.historyForMs
		this.#rowBuilder = new RowBuilder(settings)
		this.#transactionCheck = new TransactionCheck(store, settings.outsideTransaction, settings.onWarning)
		this.#notifier = new RelayNotifier(store, runtime)
		this.#runtime = runtime
		const wake = () => this.wake()
		this.dead = new DeadLetters({ store, runtime, keepsHistory, maxPayloadBytes, schemas, wake })
	}

	/** Brings the tables up to date. Safe from several processes at once. */
	migrate(): Promise<MigrationReport> {
		return this.store.migrate()
	}

	/**
	 * Writes one message, or all of a list or none. In the transaction `tx` it is sent if and when that is committed.
	 * Rejects with an InvalidMessageError before anything was written when a message can not be sent as it is.
	 */
	enqueue(message: MessageFor<T>, options?: EnqueueOptions): Promise<EnqueueResult>
	enqueue(messages: readonly MessageFor<T>[], options?: EnqueueOptions): Promise<EnqueueResult[]>
	enqueue(
		given: MessageFor<T> | readonly MessageFor<T>[],
		options?: EnqueueOptions,
	): Promise<EnqueueResult | EnqueueResult[]>
	enqueue(
		given: MessageFor<T> | readonly MessageFor<T>[],
		options: EnqueueOptions = NONE,
	): Promise<EnqueueResult | EnqueueResult[]> {
		// Not an async function: with nothing to wait for, the row is written within this tick, before a commit that nobody awaits.
		try {
			const isBatch = Array.isArray(given)
			if (isBatch && given.length === 0) return Promise.resolve([])
			this.#transactionCheck.beforeInsert(options)
			const rows = this.#rowBuilder.build(isBatch ? given : [given], isBatch)
			if (rows instanceof Promise) return rows.then((ready) => this.#write(ready, isBatch, options))
			return this.#write(rows, isBatch, options)
		} catch (error) {
			return Promise.reject(error)
		}
	}

	/** All that is known about a message; undefined when there is none with this id, or when it was sent and history is not kept. */
	async find(id: string): Promise<MessageRecord | undefined> {
		if (!isMessageId(id)) return undefined
		const stored = await this.store.find(id.toLowerCase())
		return stored && toRecord(stored)
	}

	/** Messages that match, oldest first, a page of them. Without a status: those in the queue and the dead. */
	async list(filter: MessageFilter = {}, options: PageOptions = {}): Promise<readonly MessageRecord[]> {
		checkNames(options, { limit: 'any', after: 'any' })
		const { limit = PAGE, after } = options
		if (!Number.isSafeInteger(limit) || limit < 1) invalidOption('limit', limit, 'a whole number, 1 or more')
		if (after !== undefined && !isMessageId(after)) invalidOption('after', after, 'the id of a message')
		const chosen = toFilter(filter)
		if (chosen.ids?.length === 0) return []
		return (await this.store.list(chosen, limit, after?.toLowerCase())).map(toRecord)
	}

	/**
	 * Makes messages that wait for a retry due now, and those that are named by their ids, whatever they wait for. Answers how many. Dead letters
	 * are replayed instead.
	 */
	async retry(filter: MessageFilter): Promise<number> {
		let first: ReadonlySet<string> | undefined
		const { done } = await byBatches(
			this.#runtime,
			toFilter(filter),
			async (chosen, limit) => {
				const ids = await this.store.retryNow(chosen, limit)
				// Relays are at work meanwhile: what has failed again already would otherwise be made due again, without an end.
				if (first !== undefined && ids.some((id) => first?.has(id))) return []
				first ??= new Set(ids)
				if (ids.length > 0) this.wake()
				return ids
			},
			{},
		)
		return done
	}

	/** How much is due, waiting, in flight and dead, by destination. Bounded in cost, however much there is. */
	stats(): Promise<OutboxStats> {
		return readStats(this.store)
	}

	/** One sentence about why a message has not been delivered yet. */
	why(id: string): Promise<string> {
		return whyNotSent(this.store, id)
	}

	/** Tells relays that there may be something to send: for who knows better than the outbox when a transaction was committed. */
	wake(): void {
		this.#notifier.wake()
	}

	/** Ends what was opened here. A pool that was handed in stays open, and so does a transaction. */
	close(): Promise<void> {
		this.#closed ??= this.#notifier.close().then(() => this.store.close())
		return this.#closed
	}

	/** @internal A relay of this process wants to be woken; answers how to end that. */
	attach(relay: LocalRelay): () => void {
		return this.#notifier.attach(relay)
	}

	#write(
		rows: readonly NewRow[],
		isBatch: boolean,
		options: EnqueueOptions,
	): Promise<EnqueueResult | EnqueueResult[]> {
		return this.store.insert(rows, options.tx).then((inserted) => {
			this.#transactionCheck.afterInsert(options, inserted.isInTransaction)
			this.#notifier.notifyAfterCommit(options.tx, destinationsOf(rows), inserted.isInTransaction)
			const receipts = rows.map((row) => receiptOf(row, inserted))
			return isBatch ? receipts : (receipts[0] as EnqueueResult)
		})
	}
}

function receiptOf({ id }: NewRow, { duplicates }: InsertResult): EnqueueResult {
	const earlier = duplicates.size > 0 ? duplicates.get(id) : undefined
	return { id: earlier ?? id, isDuplicate: earlier !== undefined }
}

function destinationsOf(rows: readonly NewRow[]): ReadonlySet<string> {
	const destinations = new Set<string>()
	let latest: string | undefined
	for (const { destination } of rows) {
		if (destination !== latest) destinations.add(destination)
		latest = destination
	}
	return destinations
}
