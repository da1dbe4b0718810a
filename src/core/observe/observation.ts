/**
 * The one way to look at what runs: policies, clients, relays, outboxes, inboxes and idempotency engines are
 * `Observable`, and their `Observation` offers events, calls, stats and members. Telemetry, `lint` and
 * `skipDelays` need no import of the subpath that an object comes from, and it may come from another copy of
 * the package. Decision 0046 explains the design.
 */
import type { CompiledPipeline } from '../engine/call.ts'
import type { EventBase, PolicyListener } from '../events/events.ts'
import type { Around, ObservationLevel } from './observer.ts'

/**
 * What `observe` of `yaoki/telemetry` accepts: policies, pipelines, clients, `resilientFetch` functions,
 * interceptors, relays, outboxes, inboxes and idempotency engines.
 */
export interface Observable {
	/** What telemetry reads; not for programs. The tilde sorts it behind the names that a program uses. */
	'~observable'(): object
}

/** What can be observed. */
export type ObservedKind = 'policy' | 'http' | 'relay' | 'outbox' | 'inbox' | 'webhooks' | 'idempotency'

/** What an observable object offers. */
export interface Observation {
	readonly kind: ObservedKind
	/** What is observed, if several objects share it: a client and its extensions have the same state. */
	readonly identity?: object
	/** The origin of the base URL, for clients that have one. */
	readonly origin?: string | undefined
	/** The events of an outbox, an inbox, a relay or an idempotency engine. */
	readonly events?: ObservedEvents
	/**
	 * The calls of a policy or a client, with the events of its policies. Calls `attach` with every pipeline,
	 * present and future. Returns a function that ends this, and calls the functions that `attach` has returned.
	 */
	calls?(attach: (pipeline: ObservedPipeline) => () => void): () => void
	/** The policies in use, each with its key, such as an origin; for gauges. */
	members?(): Iterable<readonly [key: string, policy: ObservedPolicy]>
	/** The current state, for gauges. */
	stats?(): unknown
}

/** Returns what the object offers; undefined if it is not observable. */
export function observationOf(thing: Observable): Observation
export function observationOf(thing: unknown): Observation | undefined
export function observationOf(thing: unknown): Observation | undefined {
	return (thing as Partial<Observable> | null | undefined)?.['~observable']?.() as Observation | undefined
}

/** A pipeline whose calls are observed. */
export interface ObservedPipeline {
	readonly compiled: CompiledPipeline
	/** Subscribes to the events of its policies, without `call` events. */
	listen(listener: PolicyListener, filter?: EventFilter): () => void
}

/** Which events of a policy a listener needs. */
export interface EventFilter {
	/** Default `all`. */
	readonly level?: ObservationLevel
	/** Leaves out events of calls through other pipelines: a policy may be part of several. */
	readonly onlyPipeline?: CompiledPipeline | undefined
	/**
	 * Called with every policy, also with those that are created later, in place of a subscription: while there
	 * is a listener, policies create events. Returns a function that ends this.
	 */
	readonly visit?: (policy: ObservedPolicy) => () => void
}

/** What observers use of an emitter. */
interface ObservedEvents {
	subscribe(listener: (event: EventBase) => void): () => void
	/** Adds a function around enqueues or deliveries. Returns a function that removes it. */
	addAround(around: Around): () => void
}

/** The part of a policy that gauges use. Single policies have `stats` too. */
export interface ObservedPolicy {
	readonly name: string
	leaves(): readonly ObservedPolicy[]
}
