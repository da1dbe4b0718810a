/**
 * A process of its own in the world: it has the same database and the same time as the others, and it can be frozen, killed, or cut off from
 * its database. What is killed does nothing more, as though the power was cut: no timer fires and no answer of the database arrives.
 */
import { Outbox, Relay, type RelayEvent, type RelayOptions } from 'yaoki/outbox'
import type { Store } from 'yaoki/outbox/store'
import type { Runtime } from '../../../src/core/runtime/runtime.ts'
import type { Destinations, World } from './world.ts'

/** What a call of the store fails with; undefined lets it through. `nth` counts the calls of this method from 1. */
export type Fault = (method: string, nth: number) => Error | undefined

export class Process implements AsyncDisposable {
	readonly outbox: Outbox
	readonly runtime: Runtime
	readonly events: RelayEvent[] = []
	/** Every call of the store, by its method. */
	readonly calls: string[] = []
	fault: Fault | undefined
	/** For how long the answer of a call is on its way. */
	delay: ((method: string) => number) | undefined
	readonly #world: World
	readonly #relays: Relay[] = []
	#isDead = false
	#frozen: (() => void)[] | undefined

	constructor(world: World) {
		this.#world = world
		const { clock } = world
		this.runtime = {
			now: () => clock.now(),
			wallNow: () => clock.wallNow(),
			random: () => clock.random(),
			setTimer: (ms, fn) => clock.setTimer(ms, () => this.#fire(fn)),
		}
		this.outbox = new Outbox({
			...{ store: this.#wired(world.store), outsideTransaction: 'allow', runtime: this.runtime },
		})
	}

	async relay(destinations: Destinations, options: RelayOptions = {}): Promise<Relay> {
		const relay = this.make(destinations, options)
		await relay.start()
		return relay
	}

	/** The same, not started. */
	make(destinations: Destinations, options: RelayOptions = {}): Relay {
		const onEvent = (event: RelayEvent) => this.events.push(event)
		const relay = new Relay(this.outbox, { runtime: this.runtime, onEvent, ...options, destinations })
		this.#relays.push(relay)
		return relay
	}

	eventsOf<Type extends RelayEvent['type']>(type: Type): Extract<RelayEvent, { type: Type }>[] {
		return this.events.filter((event): event is Extract<RelayEvent, { type: Type }> => event.type === type)
	}

	/** Resolves after so long, unless the process is dead by then. */
	pause(ms: number): Promise<void> {
		return new Promise((resolve) => this.runtime.setTimer(ms, resolve))
	}

	/** Nothing of it happens any more. */
	kill(): void {
		this.#isDead = true
	}

	/** It stands still while time goes on, as a laptop that was closed. */
	freeze(): void {
		this.#frozen = []
	}

	thaw(): void {
		const late = this.#frozen ?? []
		this.#frozen = undefined
		for (const fire of late) this.#fire(fire)
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#isDead) return
		this.fault = undefined
		this.thaw()
		const stopped = Promise.all(this.#relays.map((relay) => relay.stop({ timeoutMs: 1 })))
		await this.#world.clock.advance(10_000)
		await stopped
	}

	#fire(fn: () => void): void {
		if (this.#isDead) return
		if (this.#frozen) this.#frozen.push(fn)
		else fn()
	}

	#wired(store: Store): Store {
		const counts = new Map<string, number>()
		return new Proxy(store, {
			get: (target, name) => {
				const own: unknown = Reflect.get(target, name, target)
				if (typeof own !== 'function' || typeof name !== 'string' || name === 'accepts') return own
				return (...given: unknown[]) => {
					const nth = (counts.get(name) ?? 0) + 1
					counts.set(name, nth)
					this.calls.push(name)
					if (this.#isDead) return new Promise(() => {})
					const fault = this.fault?.(name, nth)
					if (fault) return Promise.reject(fault)
					const answer: unknown = own.apply(target, given)
					return name === 'close' ? answer : this.#heard(answer, this.delay?.(name) ?? 0)
				}
			},
		})
	}

	/** What the database answers to a process that has died meanwhile never arrives. */
	async #heard(answer: unknown, delayMs: number): Promise<unknown> {
		const value = await answer
		if (delayMs > 0) await this.pause(delayMs)
		return this.#isDead ? new Promise(() => {}) : value
	}
}
