/**
 * Wakes relays when there is something to send. Not by a NOTIFY in the user's transaction, which would make all commits wait in line for one lock, but
 * after it: relays of this process are called, and only for a destination that none of them serves the database is asked to
 * tell others.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { LocalRelay } from '../relay/waker.ts'
import type { Queryable } from '../store/queryable.ts'
import type { WakeStore } from '../store/store.ts'
import { CommitWatch } from './commit-watch.ts'
import { DatabaseNotifier } from './database-notifier.ts'

export class RelayNotifier {
	readonly #relays = new Set<LocalRelay>()
	readonly #remote: DatabaseNotifier
	readonly #commits: CommitWatch

	constructor(store: WakeStore, runtime: Runtime) {
		this.#remote = new DatabaseNotifier(() => store.ring(), runtime)
		this.#commits = new CommitWatch(runtime, (destinations) => this.#ring(destinations))
	}

	/** A relay of this process; answers how to take it off. */
	attach(relay: LocalRelay): () => void {
		this.#relays.add(relay)
		return () => {
			this.#relays.delete(relay)
		}
	}

	/** Messages were written, and will be there for relays when `tx` is committed. */
	expect(
		tx: Queryable | undefined,
		destinations: ReadonlySet<string>,
		isInTransaction: boolean | undefined,
	): void {
		this.#commits.follow(tx, destinations, isInTransaction)
	}

	/** There may be something for anybody. */
	wake(): void {
		for (const relay of this.#relays) relay.wake()
		this.#remote.ring()
	}

	/**
	 * Relays of this process are stopped first: without their database they could neither work nor end. What is known to be committed is rung
	 * yet; transactions are no longer followed.
	 */
	async close(): Promise<void> {
		await Promise.all([...this.#relays].map((relay) => relay.stop()))
		this.#commits.close()
		await this.#remote.close()
	}

	#ring(destinations: ReadonlySet<string>): void {
		const woken = new Set<LocalRelay>()
		let isRemote = false
		for (const destination of destinations) {
			let isServed = false
			for (const relay of this.#relays) {
				if (!relay.serves(destination)) continue
				isServed = true
				woken.add(relay)
			}
			isRemote ||= !isServed
		}
		for (const relay of woken) relay.wake()
		if (isRemote) this.#remote.ring()
	}
}
