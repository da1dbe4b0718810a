import type { EventBase } from '../../core/events/events.ts'
import type { ObservedKind, ObservedPolicy } from '../../core/observe/observation.ts'
import type { Observer } from '../../core/observe/observer.ts'

/** The fields by which `service` names the service of an event. */
export type ServiceFacts = Pick<EventBase, 'type' | 'emitter'> & {
	readonly pipeline?: string | undefined
	readonly key?: string | undefined
	/** The destination, if a relay emits the event, or if it is a gauge of an outbox. */
	readonly destination?: string | undefined
	readonly call?: string | undefined
	readonly method?: string | undefined
}

/** Something that `observe` observes, such as a policy or a relay. `attach` of an `Exporter` gets it. */
export interface ObservedSource {
	/** The name in the object that was passed to `observe`. */
	readonly name: string
	readonly kind: ObservedKind
	/** Returns the service of an event or of a call, at most 200 characters. Never throws. */
	serviceOf(facts: ServiceFacts): string
	/** Returns the policies in use, each with its key, such as an origin; for gauges. */
	readonly members: (() => Iterable<readonly [key: string, policy: ObservedPolicy]>) | undefined
	/** Returns the current state, for gauges. */
	readonly stats: (() => unknown) | undefined
}

/**
 * Receives what `observe` observes: an element of its second argument. Write your own to send events
 * elsewhere. An exception in it is reported once as a console warning and has no other effect.
 *
 * @example
 * const alarm: Exporter = {
 * 	name: 'alarm',
 * 	attach: ({ serviceOf }) => ({
 * 		onEvent: (event) => {
 * 			if (event.type === 'relay_dead_letter') page(serviceOf(event))
 * 		},
 * 	}),
 * }
 */
export interface Exporter {
	/** The name in reports of problems. */
	readonly name: string
	/** Returns the observer of one source. Called once for each of them. */
	attach(source: ObservedSource): Observer & {
		/** Called when the source is no longer observed. */
		detach?(): void
	}
}
