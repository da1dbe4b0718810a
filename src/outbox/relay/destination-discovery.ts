/**
 * The states of all destinations of a relay. With the destination `'*'`, every name in the queue without an entry of its own gets a state when it
 * is found, and loses it when the queue has no more messages for it: so each has its own limits and breaker.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Destination, MessageHandler } from '../destinations/destination.ts'
import type { WakeSignal } from '../notify/wake-signal.ts'
import { DestinationState } from './destination-state.ts'
import {
	type BreakerSettings,
	type DestinationSettings,
	type RelaySettings,
	readDestination,
} from './options.ts'
import type { RelayContext } from './relay-context.ts'

const PAGE_SIZE = 1_000
const NEXT_PAGE_MS = 20

/** Handlers by destination, for messages of any topics. */
export type Destinations = Readonly<Record<string, MessageHandler<never> | Destination<never>>>

export class DestinationStates {
	readonly byName: Map<string, DestinationState> = new Map()
	readonly #settings: RelaySettings
	readonly #wildcard: DestinationSettings | undefined
	readonly #named: ReadonlySet<string>
	readonly #defaultBreaker: BreakerSettings | undefined

	constructor(destinations: Destinations, settings: RelaySettings) {
		this.#settings = settings
		this.#defaultBreaker = readDestination('*', () => {}, { ...settings, circuitBreaker: {} }).circuitBreaker
		const entries = Object.entries(destinations)
		if (entries.length === 0)
			invalidOption('destinations', '{}', "at least one destination, such as { 'order.created': handler }")
		const read = entries.map(([name, given]) => [name, readDestination(name, given, settings)] as const)
		this.#wildcard = read.find(([name]) => name === '*')?.[1]
		const named = read.filter(([name]) => name !== '*')
		this.#named = new Set(named.map(([name]) => name))
		for (const [name, own] of named) this.#add(name, own)
	}

	get hasWildcard(): boolean {
		return this.#wildcard !== undefined
	}

	serves(destination: string): boolean {
		return this.hasWildcard || this.byName.has(destination)
	}

	/**
	 * Adds states for these names, which are in the queue, and removes idle states of others that came by the wildcard. A claim that runs may return
	 * messages, so those states stay.
	 */
	sync(names: readonly string[], isClaiming: (name: string) => boolean = () => false): void {
		const wildcard = this.#wildcard
		if (!wildcard) return
		for (const name of names) if (!this.byName.has(name)) this.#add(name, wildcard)
		const inQueue = new Set(names)
		for (const [name, { isIdle, breaker }] of this.byName)
			if (
				!inQueue.has(name) &&
				!this.#named.has(name) &&
				isIdle &&
				breaker.state === 'closed' &&
				!isClaiming(name)
			)
				this.byName.delete(name)
	}

	#add(name: string, own: DestinationSettings): void {
		this.byName.set(name, new DestinationState(name, own, this.#settings, this.#defaultBreaker))
	}
}

/** A search that takes longer runs beside the relay's loop the next time, and at most a tenth of the time. */
const LONG_MS = 20
const MIN_GAP = 10

/**
 * Finds the destinations of the wildcard, a page of names at a time. While a session holds an old snapshot, the search reads the entries of all messages
 * that were sent since; the known destinations must not wait for it.
 */
export class DestinationDiscovery {
	readonly #context: RelayContext
	readonly #states: DestinationStates
	readonly #signal: WakeSignal
	readonly #isClaiming: (name: string) => boolean
	#after: string | undefined
	#tookMs = 0
	#searching: Promise<void> | undefined
	/** When to run again, unless the relay is woken earlier. */
	nextAt: number = Infinity
	#notBefore = -Infinity

	constructor(
		context: RelayContext,
		states: DestinationStates,
		signal: WakeSignal,
		isClaiming: (name: string) => boolean,
	) {
		this.#context = context
		this.#states = states
		this.#signal = signal
		this.#isClaiming = isClaiming
	}

	async run(): Promise<void> {
		if (!this.#states.hasWildcard || this.#searching !== undefined) return
		if (this.#context.runtime.now() < this.#notBefore) {
			this.nextAt = this.#notBefore
			return
		}
		const isLong = this.#tookMs > LONG_MS
		const searching = this.#search()
		if (!isLong) return searching
		this.nextAt = Infinity
		this.#searching = searching
			.catch(() => {
				// The store was abandoned.
			})
			.finally(() => {
				this.#searching = undefined
				this.#signal.wake()
			})
	}

	async #search(): Promise<void> {
		const { store, runtime } = this.#context
		const after = this.#after
		let startedAt = 0
		const { names, nextDueInMs = Infinity } = await this.#context.callStore('destinations', () => {
			startedAt = runtime.now()
			return store.dueDestinations(PAGE_SIZE, after)
		})
		const now = runtime.now()
		this.#tookMs = now - startedAt
		this.#notBefore = this.#tookMs > LONG_MS ? now + MIN_GAP * this.#tookMs : -Infinity
		this.#states.sync(names, this.#isClaiming)
		this.#after = names.length === PAGE_SIZE ? names.at(-1) : undefined
		const isPaging = this.#after !== undefined || after !== undefined
		this.nextAt = Math.max(this.#notBefore, now + (isPaging ? NEXT_PAGE_MS : nextDueInMs))
	}
}
