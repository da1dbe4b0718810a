/**
 * The receiving side of at-least-once delivery: a message that is delivered twice has its effect once. The id
 * of a message is written in the transaction of its effect, so both are committed together, or neither is.
 */
import { Emitter } from '../../core/observe/emitter.ts'
import type { Observable, Observation } from '../../core/observe/observation.ts'
import type { Queryable, SqliteClient } from '../../sql/clients.ts'
import { PurgeSchedule } from '../../sql/purge-schedule.ts'
import type { MigrationReport } from '../../sql/schema/migration.ts'
import { checkMessageId } from './checks.ts'
import type { InboxEvent, InboxListener } from './events.ts'
import { type InboxOptions, type InboxSettings, readInboxOptions } from './inbox-options.ts'
import type { InboxStats } from './inbox-stats.ts'
import { type Processed, Processor } from './processor.ts'
import type { MarkKey } from './store/store.ts'

const MAX_COUNTED = 10_000

/**
 * Processes each message once, although it may be delivered several times: `once` writes the message's id in
 * your own transaction, together with your changes.
 *
 * @example
 * const inbox = new Inbox({ store: postgresInboxStore({ client: pool }) })
 * const tx = await pool.connect()
 * await tx.query('BEGIN')
 * await inbox.once(messageId, { tx }, () => tx.query('UPDATE stock ...'))
 * await tx.query('COMMIT')
 */
export class Inbox implements Observable {
	readonly #settings: InboxSettings
	readonly #emitter: Emitter<InboxEvent>
	readonly #processor: Processor
	readonly #purges: PurgeSchedule
	#closed: Promise<void> | undefined

	constructor(options: InboxOptions) {
		const settings = readInboxOptions(options)
		const { name, store, runtime, onEvent } = settings
		this.#settings = settings
		this.#emitter = new Emitter(name, runtime)
		if (onEvent) this.#emitter.subscribe(onEvent)
		this.#processor = new Processor(settings, this.#emitter)
		this.#purges = new PurgeSchedule({
			everyMs: settings.purgeEveryMs,
			runtime,
			purge: (limit) => store.purge(limit, true),
			problem: `inbox "${name}" could not delete expired marks`,
		})
	}

	/** Creates or upgrades the tables. Several processes may call it concurrently. */
	migrate(): Promise<MigrationReport> {
		return this.#settings.store.migrate()
	}

	/**
	 * Runs `fn` unless the message was processed before, and marks it as processed, in the transaction of `tx`.
	 * `fn` writes its changes with the same `tx`; commit afterwards. If `fn` throws, the mark is removed and the
	 * error passes through: roll back. On SQLite use `onceSync`: during an `await`, other callers of the
	 * connection would join the transaction.
	 *
	 * @example
	 * const { isDuplicate } = await inbox.once(messageId, { tx }, () => tx.query('UPDATE stock ...'))
	 */
	once<T>(
		messageId: string,
		options: { readonly tx: Queryable },
		fn: () => T | PromiseLike<T>,
	): Promise<Processed<T>> {
		this.#purges.start()
		return this.#processor.once(messageId, options, fn)
	}

	/**
	 * Like `once`, within the call: for transactions of SQLite, with `node:sqlite` or `better-sqlite3`. `fn` must
	 * not return a promise.
	 *
	 * @example
	 * db.exec('BEGIN IMMEDIATE')
	 * inbox.onceSync(messageId, { tx: db }, () => db.prepare('UPDATE stock SET ...').run())
	 * db.exec('COMMIT')
	 */
	onceSync<T>(messageId: string, options: { readonly tx: SqliteClient }, fn: () => T): Processed<T> {
		this.#purges.start()
		return this.#processor.onceSync(messageId, options, fn)
	}

	/** Returns when a message was processed, and until when it is remembered; undefined if it was not, or is forgotten. */
	async find(
		messageId: string,
	): Promise<
		{ readonly messageId: string; readonly processedAt: Date; readonly expiresAt: Date } | undefined
	> {
		const found = await this.#settings.store.find(this.#keyOf(messageId))
		return (
			found && {
				messageId,
				processedAt: new Date(found.processedAt),
				expiresAt: new Date(found.expiresAt),
			}
		)
	}

	/** Forgets a message, so that its next delivery is processed again. Returns false if it was not remembered. */
	async forget(messageId: string): Promise<boolean> {
		return this.#settings.store.forget(this.#keyOf(messageId))
	}

	/** Counts the marks of this inbox, at a bounded cost. */
	async stats(): Promise<InboxStats> {
		const { store, name } = this.#settings
		const [found] = await store.stats(MAX_COUNTED, name)
		const { marks, expired, oldestAgeMs } = found ?? NOTHING
		return { marks, expired, oldestAgeMs }
	}

	/** Calls the listener with every event; returns a function that unsubscribes it. */
	subscribe(listener: InboxListener): () => void {
		return this.#emitter.subscribe(listener)
	}

	'~observable'(): object {
		const observation: Observation = { kind: 'inbox', events: this.#emitter, stats: () => this.stats() }
		return observation
	}

	/** Stops deleting expired marks and closes the connection that the store opened. A pool that you passed stays open. */
	close(): Promise<void> {
		this.#closed ??= this.#purges.stop().then(() => this.#settings.store.close())
		return this.#closed
	}

	#keyOf(messageId: unknown): MarkKey {
		return { inbox: this.#settings.name, messageId: checkMessageId(messageId) }
	}
}

const NONE = { count: 0, isCapped: false } as const
const NOTHING: InboxStats = { marks: NONE, expired: NONE, oldestAgeMs: null }
