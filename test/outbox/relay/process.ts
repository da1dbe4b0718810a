/**
 * A process in the test system: it shares database and clock with the others, and can be frozen, killed, or cut off from its database. After a kill no timer
 * fires and no response of the database arrives.
 */
import { Outbox, Relay, type RelayEvent, type RelayOptions } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import type { Runtime } from '../../../src/core/runtime/runtime.ts'
import type { Destinations, TestSystem } from './setup.ts'

/** Returns the error of a store call; undefined to let it through. `nth` counts the calls of this method from 1. */
export type Fault = (method: string, nth: number) => Error | undefined

export class Process implements AsyncDisposable {
	readonly outbox: Outbox
	readonly runtime: Runtime
	readonly events: RelayEvent[] = []
	/** The method of every store call. */
	readonly calls: string[] = []
	fault: Fault | undefined
	/** Returns the latency of a store call. */
	delay: ((method: string) => number) | undefined
	readonly #system: TestSystem
	readonly #relays: Relay[] = []
	#isDead = false
	#frozen: (() => void)[] | undefined
	/** The monotonic clock while the host sleeps. */
	#asleepAt: number | undefined
	#sleptMs = 0

	constructor(system: TestSystem) {
		this.#system = system
		const { clock } = system
		this.runtime = {
			now: () => this.#asleepAt ?? clock.now() - this.#sleptMs,
			wallNow: () => clock.wallNow(),
			random: () => clock.random(),
			setTimer: (ms, fn) => clock.setTimer(ms, () => this.#fire(fn)),
		}
		this.outbox = new Outbox({
			store: this.#wired(system.store),
			outsideTransaction: 'allow',
			runtime: this.runtime,
		})
	}

	async relay(destinations: Destinations, options: RelayOptions = {}): Promise<Relay> {
		const relay = this.make(destinations, options)
		await relay.start()
		return relay
	}

	/** Creates a relay without starting it. */
	make(destinations: Destinations, options: RelayOptions = {}): Relay {
		const onEvent = (event: RelayEvent) => this.events.push(event)
		const relay = new Relay(this.outbox, { runtime: this.runtime, onEvent, ...options, destinations })
		this.#relays.push(relay)
		return relay
	}

	eventsOf<Type extends RelayEvent['type']>(type: Type): Extract<RelayEvent, { type: Type }>[] {
		return this.events.filter((event): event is Extract<RelayEvent, { type: Type }> => event.type === type)
	}

	/** Resolves after `ms`, unless the process was killed. */
	pause(ms: number): Promise<void> {
		return new Promise((resolve) => this.runtime.setTimer(ms, resolve))
	}

	/** Kills the process. */
	kill(): void {
		this.#isDead = true
	}

	/** Stops the process while time continues, like a suspended laptop. */
	freeze(): void {
		this.#frozen = []
	}

	/** The host sleeps: as `freeze`, and the monotonic clock stands still. */
	sleep(): void {
		this.#asleepAt = this.runtime.now()
		this.freeze()
	}

	/** Wakes the host. */
	wake(): void {
		this.#sleptMs = this.#system.clock.now() - (this.#asleepAt ?? 0)
		this.#asleepAt = undefined
		this.thaw()
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
		await this.#system.clock.advance(10_000)
		await stopped
	}

	#fire(fn: () => void): void {
		if (this.#isDead) return
		if (this.#frozen) this.#frozen.push(fn)
		else fn()
	}

	#wired(store: OutboxStore): OutboxStore {
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

	/** A response to a process that was killed in the meantime never arrives. */
	async #heard(answer: unknown, delayMs: number): Promise<unknown> {
		const value = await answer
		if (delayMs > 0) await this.pause(delayMs)
		return this.#isDead ? new Promise(() => {}) : value
	}
}
