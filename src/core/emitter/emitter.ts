/** Emits the events of an outbox, a relay or an idempotency engine. Without listeners nothing is created. */
import { notify } from '../engine/hooks.ts'
import type { EventBase } from '../events/events.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** An event without the fields that the emitter adds. */
export type EventDetails<Event> = Event extends EventBase ? Omit<Event, 'policy' | 'timestamp'> : never

export class Emitter<Event extends EventBase> {
	readonly #policy: string
	readonly #runtime: Runtime
	readonly #listeners = new Set<(event: Event) => void>()

	constructor(policy: string, runtime: Runtime) {
		this.#policy = policy
		this.#runtime = runtime
	}

	get hasListeners(): boolean {
		return this.#listeners.size > 0
	}

	subscribe(listener: (event: Event) => void): () => void {
		this.#listeners.add(listener)
		return () => {
			this.#listeners.delete(listener)
		}
	}

	emit(details: EventDetails<Event>): void {
		if (this.#listeners.size === 0) return
		const added = { policy: this.#policy, timestamp: this.#runtime.wallNow() }
		const event = { ...details, ...added } as unknown as Event
		for (const listener of this.#listeners) notify('onEvent', listener, event)
	}
}
