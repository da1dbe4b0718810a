/**
 * Finds the destinations of patterns, a page of names at a time. While a session holds an old snapshot,
 * the search reads the entries of all messages that were sent since; the known destinations must not wait for
 * it.
 */

import type { RelayParts } from './dispatcher.ts'

const PAGE_SIZE = 1_000
const NEXT_PAGE_MS = 20

/** A search that takes longer runs beside the relay's loop the next time, and at most a tenth of the time. */
const LONG_MS = 20
const MIN_GAP = 10

export class DestinationDiscovery {
	readonly #parts: RelayParts
	readonly #isClaiming: (name: string) => boolean
	#after: string | undefined
	#tookMs = 0
	#searching: Promise<void> | undefined
	/** When to run again, unless the relay is woken earlier. */
	nextAt: number = Infinity
	#notBefore = -Infinity

	constructor(parts: RelayParts, isClaiming: (name: string) => boolean) {
		this.#parts = parts
		this.#isClaiming = isClaiming
	}

	async run(): Promise<void> {
		const { context, states, signal } = this.#parts
		if (!states.hasPatterns || this.#searching !== undefined) return
		if (context.runtime.now() < this.#notBefore) {
			this.nextAt = this.#notBefore
			return
		}
		const isLong = this.#tookMs > LONG_MS
		const searching = this.#search()
		if (!isLong) return searching
		this.nextAt = Infinity
		const end = (): void => {
			this.#searching = undefined
			signal.wake()
		}
		// It fails only if the store was abandoned.
		this.#searching = searching.then(end, end)
	}

	async #search(): Promise<void> {
		const { context, states } = this.#parts
		const { store, runtime } = context
		const after = this.#after
		let startedAt = 0
		const { names, nextDueInMs = Infinity } = await context.callStore('destinations', () => {
			startedAt = runtime.now()
			return store.dueDestinations(PAGE_SIZE, after)
		})
		const now = runtime.now()
		this.#tookMs = now - startedAt
		this.#notBefore = this.#tookMs > LONG_MS ? now + MIN_GAP * this.#tookMs : -Infinity
		states.sync(names, this.#isClaiming)
		this.#after = names.length === PAGE_SIZE ? names.at(-1) : undefined
		const isPaging = this.#after !== undefined || after !== undefined
		this.nextAt = Math.max(this.#notBefore, now + (isPaging ? NEXT_PAGE_MS : nextDueInMs))
	}
}
