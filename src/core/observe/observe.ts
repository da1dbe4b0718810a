/**
 * How telemetry observes policies, clients, relays, outboxes and idempotency engines without importing their subpaths: each implements one
 * symbol. `Symbol.for`, because they may come from another copy of the package.
 *
 * An observer is cheaper than a listener: the end of a call is one small object without an id and a wall time, and events of calls that
 * succeed at the first attempt are not created at all, unless the observer asks for them.
 */
import type { CompiledPipeline } from '../engine/call.ts'
import type { EventBase, PolicyListener } from '../events/events.ts'
import type { Around } from './observer.ts'

export const OBSERVE: unique symbol = /* @__PURE__ */ Symbol.for('yaoki.observe') as never

export interface Observable {
	[OBSERVE](): Observation
}

/** What can be observed. */
export type ObservedKind = 'policy' | 'http' | 'relay' | 'outbox' | 'idempotency'

/** What an observed object provides. */
export interface Observation {
	readonly kind: ObservedKind
	/** What is observed, if several objects share it: a client and those that extend it have the same state. */
	readonly identity?: object
	/**
	 * Calls `attach` with every pipeline, present and future. Returns a function that ends this, and calls the functions that `attach` has
	 * returned. Only policies and clients have pipelines.
	 */
	pipelines?(attach: (pipeline: ObservedPipeline) => () => void): () => void
	/** Emits the events of everything else. */
	readonly emitter?: ObservedEmitter
	/** The policies in use, each with its key, such as an origin; for gauges. */
	policies?(): Iterable<readonly [key: string, policy: ObservedPolicy]>
	/** The current state, for gauges. */
	stats?(): unknown
	/** The origin of the base URL, for clients that have one. */
	readonly origin?: string | undefined
}

/** A pipeline to which an observer is attached. */
export interface ObservedPipeline {
	readonly compiled: CompiledPipeline
	/** Subscribes to the events of its policies. */
	listen(listener: PolicyListener, filter?: EventFilter): () => void
}

/** Which events of a policy a listener needs. */
export interface EventFilter {
	/** True to leave out the events that every call causes. */
	readonly skipsRoutine?: boolean
	/** Leaves out events of calls through other pipelines: a policy may be part of several. */
	readonly onlyPipeline?: CompiledPipeline | undefined
}

/** The part of an emitter that observers use. */
interface ObservedEmitter {
	subscribe(listener: (event: EventBase) => void): () => void
	/** Adds a function around enqueues or deliveries. Returns a function that removes it. */
	addAround(around: Around): () => void
}

/** The part of a policy that gauges use. Single policies have `stats` too. */
export interface ObservedPolicy {
	readonly name: string
	leaves(): readonly ObservedPolicy[]
}
