/** Writes the messages of an outbox, emits an event and has relays woken after the commit. */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { EnqueueInfo } from '../../core/observe/observer.ts'
import type { OutboxEvent } from '../events/outbox-events.ts'
import type { EnqueueResult, FanOutResult } from '../message/message.ts'
import type { RelayNotifier } from '../notify/relay-notifier.ts'
import type { OutboxSettings } from '../outbox-options.ts'
import type { InsertResult, NewRow } from '../store/rows.ts'
import type { InsertOptions, OutboxStore } from '../store/store.ts'
import { RowBuilder } from './build-rows.ts'
import type { AddedHeaders } from './fields.ts'
import { type EnqueueOptions, type EnqueueSyncOptions, TransactionCheck } from './transaction-check.ts'

/** The result of one message, or of each message of a batch. */
type Results = EnqueueResult | EnqueueResult[]

type Destinations = readonly string[]

export class Enqueuer {
	readonly #name: string
	readonly #store: OutboxStore
	readonly #rowBuilder: RowBuilder
	readonly #transactionCheck: TransactionCheck
	readonly #notifier: RelayNotifier
	readonly #emitter: Emitter<OutboxEvent>
	readonly #insertOptions: InsertOptions

	constructor(settings: OutboxSettings, notifier: RelayNotifier, emitter: Emitter<OutboxEvent>) {
		const { store, dedupeForMs, lockKeys } = settings
		this.#name = settings.name
		this.#store = store
		this.#rowBuilder = new RowBuilder(settings)
		this.#transactionCheck = new TransactionCheck(store, settings.outsideTransaction, settings.onWarning)
		this.#notifier = notifier
		this.#emitter = emitter
		this.#insertOptions = { dedupeForMs, lockKeys }
	}

	enqueue(given: unknown, options: EnqueueOptions): Promise<Results> {
		const { around } = this.#emitter
		if (!around) return this.#enqueue(given, options)
		const info = new Enqueue(this.#name, given)
		return around(info, () => this.#enqueue(given, options, info.added)) as Promise<Results>
	}

	#enqueue(given: unknown, options: EnqueueOptions, added?: AddedHeaders): Promise<Results> {
		// Not an async function: the row is written within this tick, before a COMMIT that does not await it.
		try {
			const isBatch = Array.isArray(given)
			if (isBatch && given.length === 0) return Promise.resolve([])
			// Before the transaction: `enqueue({ ...message, tx })` has an unknown field, and is not only outside.
			const rows = this.#rowBuilder.build(isBatch ? given : [given], isBatch, added)
			if (rows instanceof Promise)
				return rows.then((built) => {
					// While an asynchronous schema ran, the transaction may have ended.
					this.#transactionCheck.beforeInsert(options)
					return this.#insert(built, isBatch, options)
				})
			this.#transactionCheck.beforeInsert(options)
			return this.#insert(rows, isBatch, options)
		} catch (error) {
			return Promise.reject(error)
		}
	}

	/** Writes one message for each destination. `destinationsFor` may look them up for the message. */
	fanOut(
		message: unknown,
		destinationsFor: (row: NewRow) => Destinations | Promise<Destinations>,
		options: EnqueueOptions,
	): Promise<readonly FanOutResult[]> {
		const run = async (added?: AddedHeaders): Promise<readonly FanOutResult[]> => {
			const built = this.#rowBuilder.build([message], false, added)
			// No `await` without a promise: the rows are written within this tick, as in `enqueue`.
			const [row] = built instanceof Promise ? await built : built
			if (!row) return []
			// Before the look-up, which uses the transaction too.
			this.#transactionCheck.beforeInsert(options)
			const found = destinationsFor(row)
			const rows = this.#rowBuilder.fanOut(row, found instanceof Promise ? await found : found)
			return this.insert(rows, options)
		}
		const { around } = this.#emitter
		if (!around) return run()
		const info = new Enqueue(this.#name, message)
		return around(info, () => run(info.added)) as Promise<readonly FanOutResult[]>
	}

	fanOutSync(
		message: unknown,
		destinationsFor: (row: NewRow) => Destinations,
		options: EnqueueSyncOptions,
	): readonly FanOutResult[] {
		const run = (added?: AddedHeaders): readonly FanOutResult[] => {
			const { tx, store } = this.#transactionCheck.beforeSyncInsert(options)
			const [row] = this.#rowBuilder.buildSync([message], false, added)
			const rows = row ? this.#rowBuilder.fanOut(row, destinationsFor(row)) : []
			if (rows.length === 0) return []
			const inserted = store.insertSync(rows, tx, this.#insertOptions)
			return withDestinations(rows, this.#finish(rows, inserted, true, options))
		}
		const { around } = this.#emitter
		if (!around) return run()
		const info = new Enqueue(this.#name, message)
		return around(info, () => run(info.added)) as readonly FanOutResult[]
	}

	/** Writes rows that are built and validated. */
	async insert(rows: readonly NewRow[], options: EnqueueOptions): Promise<readonly FanOutResult[]> {
		this.#transactionCheck.beforeInsert(options)
		if (rows.length === 0) return []
		return withDestinations(rows, await this.#insert(rows, true, options))
	}

	enqueueSync(given: unknown, options: EnqueueSyncOptions): Results {
		const { around } = this.#emitter
		if (!around) return this.#enqueueSync(given, options)
		const info = new Enqueue(this.#name, given)
		return around(info, () => this.#enqueueSync(given, options, info.added)) as Results
	}

	#enqueueSync(given: unknown, options: EnqueueSyncOptions, added?: AddedHeaders): Results {
		const isBatch = Array.isArray(given)
		const { tx, store } = this.#transactionCheck.beforeSyncInsert(options)
		const rows = this.#rowBuilder.buildSync(isBatch ? given : [given], isBatch, added)
		if (rows.length === 0) return []
		return this.#finish(rows, store.insertSync(rows, tx, this.#insertOptions), isBatch, options)
	}

	#insert(rows: readonly NewRow[], isBatch: boolean, options: EnqueueOptions): Promise<Results> {
		const insert = (insertOptions: InsertOptions) =>
			this.#store
				.insert(rows, options.tx, insertOptions)
				.then((inserted) => this.#finish(rows, inserted, isBatch, options))
		if (!this.#transactionCheck.mustAskDatabase(options)) return insert(this.#insertOptions)
		const required = { ...this.#insertOptions, requiresTransaction: true }
		return this.#store.insert(rows, options.tx, required).then((inserted) => {
			if (inserted.isInTransaction !== false) return this.#finish(rows, inserted, isBatch, options)
			this.#transactionCheck.reportOutside(options.tx)
			return insert(this.#insertOptions)
		})
	}

	#finish(
		rows: readonly NewRow[],
		inserted: InsertResult,
		isBatch: boolean,
		options: EnqueueOptions,
	): Results {
		const { isInTransaction, duplicates } = inserted
		this.#transactionCheck.afterInsert(options, inserted)
		this.#notifier.notifyAfterCommit(options.tx, destinationsOf(rows), isInTransaction)
		if (this.#emitter.hasListeners) this.#emitEnqueued(rows, duplicates.size)
		const results = rows.map((row) => toResult(row, inserted))
		return isBatch ? results : (results[0] as EnqueueResult)
	}

	#emitEnqueued(rows: readonly NewRow[], duplicates: number): void {
		const topics: Record<string, number> = {}
		for (const { topic } of rows) topics[topic] = (topics[topic] ?? 0) + 1
		this.#emitter.emit({ type: 'outbox_enqueued', count: rows.length - duplicates, duplicates, topics })
	}
}

const withDestinations = (rows: readonly NewRow[], results: Results): readonly FanOutResult[] =>
	(results as readonly EnqueueResult[]).map((result, index) => ({
		...result,
		destination: rows[index]?.destination ?? '',
	}))

function toResult({ id }: NewRow, { duplicates }: InsertResult): EnqueueResult {
	const first = duplicates.size > 0 ? duplicates.get(id) : undefined
	return { id: first ?? id, isDuplicate: first !== undefined }
}

/** Skips a destination that equals the previous one, because most batches have only one. */
function destinationsOf(rows: readonly NewRow[]): ReadonlySet<string> {
	const destinations = new Set<string>()
	let previous: string | undefined
	for (const { destination } of rows) {
		if (destination !== previous) destinations.add(destination)
		previous = destination
	}
	return destinations
}

/** Converting anything else could throw, before the message is validated. */
function topicOf(message: unknown): string {
	const topic = safeGet(message, 'topic')
	return typeof topic === 'string' ? topic : 'invalid'
}

/** What observers see of an enqueue. The messages are not validated yet. */
class Enqueue implements EnqueueInfo {
	readonly type = 'enqueue'
	readonly outbox: string
	readonly topics: readonly string[]
	readonly count: number
	added: AddedHeaders

	constructor(outbox: string, given: unknown) {
		const messages: readonly unknown[] = Array.isArray(given) ? given : [given]
		this.outbox = outbox
		this.count = messages.length
		this.topics = [...new Set(messages.map(topicOf))]
	}

	addHeaders(headers: Readonly<Record<string, string>>): void {
		this.added = { ...this.added, ...headers }
	}
}
