/**
 * All lanes of a relay. Of the destination `'*'` every name that is in the queue and has no entry of its own gets a lane, when it is seen, and
 * loses it when it is no longer there: so each has its own limits and its own gate.
 */
import { invalidOption } from '../../core/options/schema.ts'
import type { Destination, Handler } from '../destinations/destination.ts'
import { DestinationState } from './destination-state.ts'
import {
	type BreakerSettings,
	type DestinationSettings,
	type RelaySettings,
	readDestination,
} from './settings.ts'

/** Handlers of messages of whatever topics. */
export type Destinations = Readonly<Record<string, Handler<never> | Destination<never>>>

export class DestinationStates {
	readonly byName: Map<string, DestinationState> = new Map()
	readonly #settings: RelaySettings
	readonly #wildcard: DestinationSettings | undefined
	readonly #fixed: ReadonlySet<string>
	readonly #fallback: BreakerSettings | undefined

	constructor(destinations: Destinations, settings: RelaySettings) {
		this.#settings = settings
		this.#fallback = readDestination('*', () => {}, { ...settings, breaker: {} }).breaker
		const entries = Object.entries(destinations)
		if (entries.length === 0)
			invalidOption('destinations', '{}', "at least one, such as { 'order.created': handler }")
		const read = entries.map(([name, given]) => [name, readDestination(name, given, settings)] as const)
		this.#wildcard = read.find(([name]) => name === '*')?.[1]
		const named = read.filter(([name]) => name !== '*')
		this.#fixed = new Set(named.map(([name]) => name))
		for (const [name, own] of named) this.#add(name, own)
	}

	get hasWildcard(): boolean {
		return this.#wildcard !== undefined
	}

	serves(destination: string): boolean {
		return this.hasWildcard || this.byName.has(destination)
	}

	/** These names are in the queue. */
	meet(names: readonly string[]): void {
		const wildcard = this.#wildcard
		if (!wildcard) return
		for (const name of names) if (!this.byName.has(name)) this.#add(name, wildcard)
		const known = new Set(names)
		for (const [name, lane] of this.byName)
			if (!known.has(name) && !this.#fixed.has(name) && lane.isIdle && lane.gate.state === 'closed')
				this.byName.delete(name)
	}

	#add(name: string, own: DestinationSettings): void {
		this.byName.set(name, new DestinationState(name, own, this.#settings, this.#fallback))
	}
}
