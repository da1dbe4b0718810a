/** Emits the events of an outbox, a relay or an idempotency engine. Without listeners nothing is created. */
import type { EventBase } from '../events/events.ts'
import { notify } from '../options/hooks.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Around } from './observer.ts'

/** An event without the fields that the emitter adds. */
export type EventDetails<Event> = Event extends EventBase ? Omit<Event, 'emitter' | 'timestamp'> : never

export class Emitter<Event extends EventBase> {
	readonly #name: string
	readonly #runtime: Runtime
	readonly #listeners = new Set<(event: Event) => void>()
	#arounds: readonly Around[] = []
	/** Runs around an enqueue or a delivery. Undefined without an observer: one comparison. */
	around: Around | undefined

	constructor(name: string, runtime: Runtime) {
		this.#name = name
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

	/** The function that is added first is the outermost. */
	addAround(added: Around): () => void {
		const set = (arounds: readonly Around[]) => {
			this.#arounds = arounds
			this.around = arounds.length === 0 ? undefined : nest(arounds)
		}
		set([...this.#arounds, added])
		return () => set(this.#arounds.filter((other) => other !== added))
	}

	emit(details: EventDetails<Event>): void {
		if (this.#listeners.size === 0) return
		const added = { emitter: this.#name, timestamp: this.#runtime.wallNow() }
		const event = { ...details, ...added } as unknown as Event
		for (const listener of this.#listeners) notify('onEvent', listener, event)
	}
}

const nest = (arounds: readonly Around[]): Around =>
	arounds.reduceRight((inner, outer) => (info, next) => outer(info, () => inner(info, next)))
