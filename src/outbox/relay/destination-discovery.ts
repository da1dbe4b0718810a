/**
 * The states of all destinations of a relay. With the destination `'*'`, every name in the queue without an entry of its own gets a state when it
 * is found, and loses it when the queue has no more messages for it: so each has its own limits and breaker.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Destination, Handler } from '../destinations/destination.ts'
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
export type Destinations = Readonly<Record<string, Handler<never> | Destination<never>>>

export class DestinationStates {
	readonly byName: Map<string, DestinationState> = new Map()
	readonly #settings: RelaySettings
	readonly #wildcard: DestinationSettings | undefined
	readonly #named: ReadonlySet<string>
	readonly #defaultBreaker: BreakerSettings | undefined

	constructor(destinations: Destinations, settings: RelaySettings) {
		this.#settings = settings
		this.#defaultBreaker = readDestination('*', () => {}, { ...settings, breaker: {} }).breaker
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

	/** Adds states for these names, which are in the queue, and removes idle states of others that came by the wildcard. */
	sync(names: readonly string[]): void {
		const wildcard = this.#wildcard
		if (!wildcard) return
		for (const name of names) if (!this.byName.has(name)) this.#add(name, wildcard)
		const inQueue = new Set(names)
		for (const [name, { isIdle, breaker }] of this.byName)
			if (!inQueue.has(name) && !this.#named.has(name) && isIdle && breaker.state === 'closed')
				this.byName.delete(name)
	}

	#add(name: string, own: DestinationSettings): void {
		this.byName.set(name, new DestinationState(name, own, this.#settings, this.#defaultBreaker))
	}
}

/** Finds the destinations of the wildcard, a page of names at a time. */
export class DestinationDiscovery {
	readonly #context: RelayContext
	readonly #states: DestinationStates
	#after: string | undefined
	/** When to run again, unless the relay is woken earlier. */
	nextAt: number = Infinity

	constructor(context: RelayContext, states: DestinationStates) {
		this.#context = context
		this.#states = states
	}

	async run(): Promise<void> {
		if (!this.#states.hasWildcard) return
		const { store, runtime } = this.#context
		const after = this.#after
		const { names, nextDueInMs = Infinity } = await this.#context.callStore('destinations', () =>
			store.dueDestinations(PAGE_SIZE, after),
		)
		this.#states.sync(names)
		this.#after = names.length === PAGE_SIZE ? names.at(-1) : undefined
		const isPaging = this.#after !== undefined || after !== undefined
		this.nextAt = runtime.now() + (isPaging ? NEXT_PAGE_MS : nextDueInMs)
	}
}
