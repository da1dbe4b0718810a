/**
 * Promises for states that a server or a recorder reaches. A test waits for a state ("the second request was aborted") and continues
 * with the event that causes it; polling or sleeping would fail on a slow machine. A test that still waits when the server closes
 * fails with what it was waiting for, instead of hanging until the test times out.
 */
interface Waiter {
	readonly what: string
	readonly isReached: () => boolean
	readonly resolve: () => void
	readonly reject: (error: Error) => void
}

export class StateWaits {
	readonly #waiters = new Set<Waiter>()

	/** Waits for any state; `what` names it if the wait fails. */
	until(what: string, isReached: () => boolean): Promise<void> {
		if (isReached()) return Promise.resolve()
		return new Promise((resolve, reject) => {
			this.#waiters.add({ what, isReached, resolve, reject })
		})
	}

	/** To be called after every change, by the server. */
	changed(): void {
		for (const waiter of this.#waiters) {
			if (!waiter.isReached()) continue
			this.#waiters.delete(waiter)
			waiter.resolve()
		}
	}

	protected giveUpWaiting(): void {
		for (const { what, reject } of this.#waiters) {
			reject(new Error(`the server was closed while a test waited for ${what}; seen: ${this.summary()}`))
		}
		this.#waiters.clear()
	}

	/** What was seen, for the error of a wait that failed. */
	protected summary(): string {
		return 'nothing recorded'
	}
}
