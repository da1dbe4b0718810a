/**
 * Tells relays of other processes, by the database. A ring says only that there may be something, so many of them are as good as one: one
 * is under way at most, and one is to come. What a ring fails with does not matter, for every relay looks by itself from time to time.
 */
import type { CancelTimer, Runtime } from '../../core/runtime/runtime.ts'

const LEAST_GAP_MS = 5

export class DatabaseNotifier {
	readonly #ring: () => Promise<void>
	readonly #runtime: Runtime
	#underWay: Promise<void> | undefined
	#isWanted = false
	#latestAt = -Infinity
	#cancel: CancelTimer | undefined
	#isClosed = false

	constructor(ring: () => Promise<void>, runtime: Runtime) {
		this.#ring = ring
		this.#runtime = runtime
	}

	ring(): void {
		if (this.#isClosed) return
		this.#isWanted = true
		if (this.#underWay !== undefined || this.#cancel !== undefined) return
		const waitMs = this.#latestAt + LEAST_GAP_MS - this.#runtime.now()
		if (waitMs > 0) this.#cancel = this.#runtime.setTimer(waitMs, this.#go, 'housekeeping')
		else this.#go()
	}

	/** Rings what is still to be rung, and no more after that. */
	async close(): Promise<void> {
		this.#isClosed = true
		this.#cancel?.()
		await this.#underWay
		if (this.#isWanted) this.#go()
		await this.#underWay
	}

	readonly #go = (): void => {
		this.#cancel = undefined
		this.#isWanted = false
		this.#latestAt = this.#runtime.now()
		this.#underWay = this.#rung().then(this.#done, this.#done)
	}

	/** Async, for a store of somebody's own may throw at once. */
	async #rung(): Promise<void> {
		await this.#ring()
	}

	/** What it failed with does not matter: the relays' own looks find it. */
	readonly #done = (): void => {
		this.#underWay = undefined
		if (this.#isWanted && !this.#isClosed) this.ring()
	}
}
