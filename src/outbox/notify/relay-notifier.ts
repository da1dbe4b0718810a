/**
 * Wakes relays when there are messages to send. A NOTIFY inside the user's transaction would serialize all
 * commits on one lock, so relays are woken after the commit. A function call wakes the relays of this process.
 * The database wakes relays of other processes, if no relay of this process serves the destination.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { Queryable } from '../../sql/clients.ts'
import type { NotificationStore } from '../store/store.ts'
import { CommitWatch } from './commit-watch.ts'
import { DatabaseNotifier } from './database-notifier.ts'

/** A relay of this process, as its outbox sees it. */
export interface LocalRelay {
	/** Returns true if the relay sends messages to this destination. */
	serves(destination: string): boolean
	/** Called when there may be new messages. */
	wake(): void
	/** Called before the database is closed. */
	stop(): Promise<void>
}

export class RelayNotifier {
	readonly #relays = new Set<LocalRelay>()
	readonly #database: DatabaseNotifier
	readonly #commits: CommitWatch

	constructor(store: NotificationStore, runtime: Runtime) {
		this.#database = new DatabaseNotifier(() => store.notify(), runtime)
		this.#commits = new CommitWatch(runtime, (destinations) => this.#notify(destinations))
	}

	/** Adds a relay of this process; returns a function that removes it. */
	attach(relay: LocalRelay): () => void {
		this.#relays.add(relay)
		return () => {
			this.#relays.delete(relay)
		}
	}

	/** Notifies relays when `tx` is committed. */
	notifyAfterCommit(
		tx: Queryable | undefined,
		destinations: ReadonlySet<string>,
		isInTransaction: boolean | undefined,
	): void {
		this.#commits.follow(tx, destinations, isInTransaction)
	}

	/** Wakes all relays now, whatever they serve. */
	wake(): void {
		for (const relay of this.#relays) relay.wake()
		this.#database.notify()
	}

	/** Stops the relays of this process first: without their database they could neither work nor stop. */
	async close(): Promise<void> {
		await Promise.all([...this.#relays].map((relay) => relay.stop()))
		this.#commits.close()
		await this.#database.close()
	}

	#notify(destinations: ReadonlySet<string>): void {
		const woken = new Set<LocalRelay>()
		let isServedElsewhere = false
		for (const destination of destinations) {
			let isServedHere = false
			for (const relay of this.#relays) {
				if (!relay.serves(destination)) continue
				isServedHere = true
				woken.add(relay)
			}
			isServedElsewhere ||= !isServedHere
		}
		for (const relay of woken) relay.wake()
		if (isServedElsewhere) this.#database.notify()
	}
}
