/**
 * Wakes relays of other processes through the database. A notification only says that there may be new
 * messages, so at most one is in flight and one is pending. Every relay also polls, so errors are ignored.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

const MIN_GAP_MS = 5

export class DatabaseNotifier {
	readonly #send: () => Promise<void>
	readonly #runtime: Runtime
	#inFlight: Promise<void> | undefined
	#isPending = false
	#sentAt = -Infinity
	#cancel: CancelTimer | undefined
	#isClosed = false

	constructor(send: () => Promise<void>, runtime: Runtime) {
		this.#send = send
		this.#runtime = runtime
	}

	notify(): void {
		if (this.#isClosed) return
		this.#isPending = true
		if (this.#inFlight !== undefined || this.#cancel !== undefined) return
		const waitMs = this.#sentAt + MIN_GAP_MS - this.#runtime.now()
		if (waitMs > 0) this.#cancel = this.#runtime.setTimer(waitMs, this.#start, 'housekeeping')
		else this.#start()
	}

	/** Sends the pending notification, if any, and ignores later ones. */
	async close(): Promise<void> {
		this.#isClosed = true
		this.#cancel?.()
		await this.#inFlight
		if (this.#isPending) this.#start()
		await this.#inFlight
	}

	readonly #start = (): void => {
		this.#cancel = undefined
		this.#isPending = false
		this.#sentAt = this.#runtime.now()
		// An async function, because a custom store may throw synchronously.
		this.#inFlight = (async () => this.#send())().then(this.#finish, this.#finish)
	}

	readonly #finish = (): void => {
		this.#inFlight = undefined
		if (this.#isPending && !this.#isClosed) this.notify()
	}
}
