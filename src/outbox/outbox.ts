/** The outbox as an application uses it: writes messages for relays, and returns information about them. */
import { safeGet } from '../core/classify/safe-get.ts'
import { Emitter } from '../core/observe/emitter.ts'
import type { Observable, Observation } from '../core/observe/observation.ts'
import { invalidArgument } from '../core/options/schema.ts'
import type { MigrationReport } from '../sql/schema/migration.ts'
import { DeadLetters } from './dead-letters/dead-letters.ts'
import { type PageOptions, readPage } from './dead-letters/options.ts'
import { type AttemptPageOptions, listAttempts, type MessageAttempt } from './diagnostics/attempts.ts'
import { type OutboxStats, readStats } from './diagnostics/stats.ts'
import { explainMessage } from './diagnostics/why.ts'
import { Enqueuer } from './enqueue/enqueuer.ts'
import type { EnqueueOptions, EnqueueSyncOptions } from './enqueue/transaction-check.ts'
import type { MessagesChangedEvent, OutboxEvent, OutboxListener } from './events/outbox-events.ts'
import { invalidField } from './message/errors.ts'
import { isMessageId, type MessageFilter, toFilter } from './message/filter.ts'
import type { EnqueueResult, FanOutResult, MessageFor, MessageRecord, Topics } from './message/message.ts'
import { toRecord } from './message/record.ts'
import { type ShownStore, withRedaction } from './message/redact.ts'
import { type LocalRelay, RelayNotifier } from './notify/relay-notifier.ts'
import {
	type AuditFilter,
	type AuditPageOptions,
	type AuditRecord,
	readAuditFilter,
	readAuditPage,
	toAuditRecord,
} from './operator/audit.ts'
import { DestinationControl, type PauseOptions, type ResumeOptions } from './operator/destination-control.ts'
import type { OperatorOptions } from './operator/operator.ts'
import { resendMessage } from './operator/resend.ts'
import { type OutboxOptions, readOutboxOptions } from './outbox-options.ts'
import { QueuedMessages, type SelectionOptions } from './queued-messages.ts'
import type { OutboxStore } from './store/store.ts'

function checkDestinations(message: unknown, destinations: unknown): () => readonly string[] {
	if (!Array.isArray(destinations))
		invalidArgument('destinations', destinations, "an array of names, such as ['billing', 'shipping']")
	const destination = safeGet(message, 'destination')
	if (destination !== undefined)
		invalidField({ topic: safeGet(message, 'topic') }, 'destination', destination, NO_DESTINATION)
	return () => destinations
}

const NO_DESTINATION = 'no destination, because the second argument of fanOut has them'

const NO_OPTIONS: EnqueueOptions = Object.freeze({})

/**
 * Writes messages in your own transaction with `enqueue`; a `Relay` sends them afterwards, even if this
 * process crashes.
 *
 * @example
 * const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }), topics: { 'order.created': OrderCreated } })
 * const tx = await pool.connect()
 * await tx.query('BEGIN')
 * await tx.query('INSERT INTO orders ...')
 * await outbox.enqueue({ topic: 'order.created', payload: order }, { tx })
 * await tx.query('COMMIT')
 */
export class Outbox<T extends Topics = Topics> implements Observable {
	/** @internal */
	readonly store: OutboxStore
	/** @internal For webhooks, whose destinations are looked up. */
	readonly enqueuer: Enqueuer
	/** @internal True if sent messages are kept. */
	readonly keepsHistory: boolean
	/** @internal How long they are kept. */
	readonly historyForMs: number
	/** @internal How long audit records are kept. */
	readonly auditForMs: number
	/** The dead letters: list, replay, edit, discard. */
	readonly dead: DeadLetters
	readonly #notifier: RelayNotifier
	readonly #emitter: Emitter<OutboxEvent>
	readonly #queued: QueuedMessages
	readonly #control: DestinationControl
	/** The store with redacted messages, for what people read. */
	readonly #shown: ShownStore
	#closed: Promise<void> | undefined

	constructor(options: OutboxOptions<T>) {
		const settings = readOutboxOptions(options)
		const { store, runtime } = settings
		this.store = store
		this.keepsHistory = settings.keepsHistory
		this.historyForMs = settings.historyForMs
		this.auditForMs = settings.auditForMs
		this.#notifier = new RelayNotifier(store, runtime)
		this.#emitter = new Emitter(settings.name, runtime)
		this.enqueuer = new Enqueuer(settings, this.#notifier, this.#emitter)
		this.#shown = withRedaction(store, settings.redact)
		const onChanged = (type: MessagesChangedEvent['type'], count: number) => this.#onChanged(type, count)
		this.#queued = new QueuedMessages(store, runtime, onChanged)
		this.#control = new DestinationControl(store, () => this.wake())
		this.dead = new DeadLetters({ ...settings, shown: this.#shown, onChanged })
	}

	/** Creates or upgrades the tables. Several processes may call it concurrently. */
	migrate(): Promise<MigrationReport> {
		return this.store.migrate()
	}

	/**
	 * Writes one message, or an array of messages (all or none). With `tx` they are sent after that transaction
	 * commits, and not if it is rolled back. In a transaction of SQLite use `enqueueSync`: during an `await`,
	 * other callers of the connection would join the transaction. Rejects with an InvalidMessageError, before
	 * anything is written, if a message is invalid.
	 */
	enqueue(message: MessageFor<T>, options?: EnqueueOptions): Promise<EnqueueResult>
	enqueue(messages: readonly MessageFor<T>[], options?: EnqueueOptions): Promise<EnqueueResult[]>
	enqueue(
		given: MessageFor<T> | readonly MessageFor<T>[],
		options?: EnqueueOptions,
	): Promise<EnqueueResult | EnqueueResult[]>
	enqueue(
		given: MessageFor<T> | readonly MessageFor<T>[],
		options: EnqueueOptions = NO_OPTIONS,
	): Promise<EnqueueResult | EnqueueResult[]> {
		return this.enqueuer.enqueue(given, options)
	}

	/**
	 * Writes one message, or an array of messages, within the call: the way to enqueue in a transaction of
	 * SQLite. Throws what `enqueue` would reject with, so that the transaction is rolled back. With
	 * `better-sqlite3`, call it in the function of `db.transaction`.
	 *
	 * @example
	 * db.exec('BEGIN IMMEDIATE')
	 * try {
	 *   db.prepare('INSERT INTO orders VALUES (?)').run(order.id)
	 *   outbox.enqueueSync({ topic: 'order.created', payload: order }, { tx: db })
	 *   db.exec('COMMIT')
	 * } catch (error) {
	 *   if (db.isTransaction) db.exec('ROLLBACK')
	 *   throw error
	 * }
	 */
	enqueueSync(message: MessageFor<T>, options: EnqueueSyncOptions): EnqueueResult
	enqueueSync(messages: readonly MessageFor<T>[], options: EnqueueSyncOptions): EnqueueResult[]
	enqueueSync(
		given: MessageFor<T> | readonly MessageFor<T>[],
		options: EnqueueSyncOptions,
	): EnqueueResult | EnqueueResult[] {
		return this.enqueuer.enqueueSync(given, options)
	}

	/**
	 * Writes one message for each destination, in one statement. Each has an id, retries and a fate of its own, so
	 * a destination that is down does not delay the others. With a `dedupeKey`, each destination gets the message
	 * once. Takes the options of `enqueue`.
	 *
	 * @example
	 * await outbox.fanOut({ topic: 'order.placed', payload: order }, ['billing', 'shipping'], { tx })
	 */
	async fanOut(
		message: MessageFor<T>,
		destinations: readonly string[],
		options: EnqueueOptions = NO_OPTIONS,
	): Promise<readonly FanOutResult[]> {
		return this.enqueuer.fanOut(message, checkDestinations(message, destinations), options)
	}

	/** As `fanOut`, within the call: the way to fan out in a transaction of SQLite. */
	fanOutSync(
		message: MessageFor<T>,
		destinations: readonly string[],
		options: EnqueueSyncOptions,
	): readonly FanOutResult[] {
		return this.enqueuer.fanOutSync(message, checkDestinations(message, destinations), options)
	}

	/** Returns a message; undefined if the id is unknown, or the message was sent and no history is kept. */
	async find(id: string): Promise<MessageRecord | undefined> {
		if (!isMessageId(id)) return undefined
		const stored = await this.#shown.find(id.toLowerCase())
		return stored && toRecord(stored)
	}

	/** Returns a page of matching messages, oldest first. Without a status: queued messages and dead letters. */
	async list(filter: MessageFilter = {}, options: PageOptions = {}): Promise<readonly MessageRecord[]> {
		const { limit, after } = readPage(options)
		const storeFilter = toFilter(filter)
		if (storeFilter.ids?.length === 0) return []
		return (await this.#shown.list(storeFilter, limit, after)).map(toRecord)
	}

	/**
	 * Makes messages that wait for a retry due now. Messages selected by `ids` become due even if they were
	 * scheduled by `notBefore`. Returns how many were not due yet; with an aborted `signal`, until then. Without
	 * conditions it requires `{ all: true }`. Throws a `MessageNotQueuedError` if one of `ids` does not wait in the queue. For dead
	 * letters use `dead.replay`.
	 */
	retry(filter: MessageFilter, options: SelectionOptions = {}): Promise<number> {
		return this.#queued.retry(filter, options)
	}

	/**
	 * Makes queued messages expire now: a relay moves them to the dead letters with the cause `expired`. This
	 * ends messages that are retried without limit. Messages in flight are not changed. Returns how many had
	 * not expired yet; with an aborted `signal`, until then. Without conditions it requires `{ all: true }`. Throws a `MessageNotQueuedError` if one
	 * of `ids` does not wait in the queue.
	 *
	 * @example
	 * await outbox.expire({ destination: 'billing', until: new Date('2026-11-01') }, { reason: 'replaced by the monthly run' })
	 */
	expire(filter: MessageFilter, options: SelectionOptions = {}): Promise<number> {
		return this.#queued.expire(filter, options)
	}

	/**
	 * Delivers a sent message again: moves it from the history back into the queue, due now, with the same id
	 * and at its former position in the order of its key. A receiver that remembers the id treats it as a
	 * duplicate and ignores it. An `expiresAt` that has passed is removed. Throws a `MessageNotSentError` if
	 * the history does not have the message, which needs `historyForMs`.
	 *
	 * @example
	 * await outbox.resend(id, { reason: 'the receiver restored a backup' })
	 */
	async resend(id: string, options: OperatorOptions = {}): Promise<void> {
		await resendMessage(this, id, options)
		this.#onChanged('outbox_resent', 1)
	}

	/**
	 * Pauses a destination for all relays, until `resume` or for `forMs`. It survives restarts, and messages of
	 * the destination use no attempts. Relays obey at their next poll at the latest; messages in flight are
	 * finished.
	 */
	pause(destination: string, options: PauseOptions = {}): Promise<void> {
		return this.#control.pause(destination, options)
	}

	/**
	 * Ends the pause of a destination; with `closeCircuit` also an open circuit and a Retry-After. Returns
	 * false if there was nothing to end.
	 */
	resume(destination: string, options: ResumeOptions = {}): Promise<boolean> {
		return this.#control.resume(destination, options)
	}

	/**
	 * Closes the circuit of a destination and ends a Retry-After, because you know that it works again. A pause
	 * by `pause` stays. Returns false if neither was active.
	 */
	closeCircuit(destination: string, options: OperatorOptions = {}): Promise<boolean> {
		return this.#control.closeCircuit(destination, options)
	}

	/** Returns what operators did, newest first: who, when, why, and for dead letters the original message. */
	async audit(filter: AuditFilter = {}, options: AuditPageOptions = {}): Promise<readonly AuditRecord[]> {
		const { limit, before } = readAuditPage(options)
		return (await this.#shown.audit(readAuditFilter(filter), limit, before)).map(toAuditRecord)
	}

	/** Returns counts of due, scheduled, in-flight and dead messages by destination, at a bounded cost. */
	stats(): Promise<OutboxStats> {
		return readStats(this.store)
	}

	/** Explains in a sentence or two why a message has not been sent. */
	why(id: string): Promise<string> {
		return explainMessage(this.store, this.#shown, id)
	}

	/**
	 * Returns what each call of the message's handler resulted in, oldest first: sent and dead messages
	 * included, as long as the `attemptLog` of the destination keeps them. An attempt without a record has not
	 * ended yet, or its process crashed.
	 *
	 * @example
	 * for (const { attempt, outcome, statusCode } of await outbox.attempts(id)) console.log(attempt, outcome, statusCode)
	 */
	attempts(id: string, options: AttemptPageOptions = {}): Promise<readonly MessageAttempt[]> {
		return listAttempts(this.#shown, id, options)
	}

	/** Calls the listener with every event; returns a function that unsubscribes it. */
	subscribe(listener: OutboxListener): () => void {
		return this.#emitter.subscribe(listener)
	}

	'~observable'(): object {
		const observation: Observation = { kind: 'outbox', events: this.#emitter, stats: () => this.stats() }
		return observation
	}

	/**
	 * Wakes all relays. Only needed after a commit that the outbox cannot detect, for example if an ORM hides
	 * its client.
	 */
	wake(): void {
		this.#notifier.wake()
	}

	/**
	 * Stops the relays of this process and closes the connections that the outbox opened. A pool or client that
	 * you passed stays open.
	 */
	close(): Promise<void> {
		this.#closed ??= this.#notifier.close().then(() => this.store.close())
		return this.#closed
	}

	/** @internal Makes messages due that have failed at most `maxAttempts` times, because their destination works again. */
	retryAfterOutage(destination: string, maxAttempts: number): Promise<number> {
		return this.#queued.retryAfterOutage(destination, maxAttempts)
	}

	/** @internal Adds a relay of this process that wants to be woken; returns a function that removes it. */
	attach(relay: LocalRelay): () => void {
		return this.#notifier.attach(relay)
	}

	#onChanged(type: MessagesChangedEvent['type'], count: number): void {
		this.wake()
		this.#emitter.emit({ type, count })
	}
}
