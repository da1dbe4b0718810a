/**
 * How telemetry observes policies, clients, relays, outboxes and idempotency engines without importing their subpaths: each implements one
 * symbol. `Symbol.for`, because they may come from another copy of the package.
 *
 * An observer is cheaper than a listener: the end of a call is one small object without an id and a wall time, and events of calls that
 * succeed at the first attempt are not created at all, unless the observer asks for them.
 */
import type { Policy } from '../engine/policy.ts'
import type { EventBase } from '../events/events.ts'

export const OBSERVE: unique symbol = /* @__PURE__ */ Symbol.for('yaoki.observe') as never

export interface Observable {
	[OBSERVE](): Observation
}

/** What can be observed. */
export type ObservedKind = 'policy' | 'http' | 'relay' | 'outbox' | 'idempotency'

/** What an observed object provides. */
export interface Observation {
	readonly kind: ObservedKind
	/** Adds an observer. Returns a function that removes it. */
	observe(observer: Observer): () => void
	/** The policies in use, each with its key, such as an origin; for gauges. */
	policies?(): Iterable<readonly [key: string, policy: Policy<unknown>]>
	/** The current state, for gauges. */
	stats?(): unknown
}

/** All functions must not throw: telemetry catches the errors of user code itself. */
export interface Observer {
	/**
	 * Receives events. Without `isComplete` those of routine calls are left out: `call`, `success`, `failure` of a circuit breaker, and
	 * `retry_success` after a single attempt.
	 */
	onEvent?(event: EventBase): void
	/** True to receive every event. */
	readonly isComplete?: boolean
	/** Receives the end of every call of a policy or client. */
	onCallEnd?(end: CallEnd): void
	/** Runs `next` exactly once and synchronously, for example in an async context, and returns what it returned. */
	around?(info: AroundInfo, next: () => unknown): unknown
}

/** The end of a call: the facts of a `call` event without those that are expensive. */
export interface CallEnd {
	readonly type: 'call'
	/** The name of the policy, pipeline or client. */
	readonly policy: string
	/** The call's key; for HTTP the origin. */
	readonly key: string | undefined
	/** The call's `name`. */
	readonly call: string | undefined
	/** The HTTP method. */
	readonly method: string | undefined
	readonly outcome: 'success' | 'fallback' | 'failure' | 'rejected'
	/** How often the operation was called, hedges included. */
	readonly attempts: number
	/** How many of the attempts were retries. */
	readonly retries: number
	readonly durationMs: number
	readonly queuedMs: number
	readonly backoffMs: number
	/** The error, if the outcome is `failure` or `rejected`. */
	readonly error: unknown
	/** The info that `around` received for this call, if there is an `around`. */
	readonly info: CallInfo | undefined
}

/** What `around` runs. */
export type AroundInfo = CallInfo | AttemptInfo | EnqueueInfo | DeliveryInfo

/** A whole call. Its end is reported by `onCallEnd`, with the same object. */
export interface CallInfo {
	readonly type: 'call'
	readonly policy: string
	readonly key: string | undefined
	readonly call: string | undefined
	readonly method: string | undefined
	/** For the observer, by its own symbol or object: what it needs at the end of the call. */
	readonly state: Map<object, unknown>
}

/** One attempt of a call. `next` returns what the operation returns, mostly a promise. */
export interface AttemptInfo {
	readonly type: 'attempt'
	readonly call: CallInfo
	/** Counted from 0; hedges have the number of the attempt that they hedge. */
	readonly attempt: number
	/** How often the operation was called before in this call, hedges included. */
	readonly resendCount: number
	/** Undefined if the attempt is not an HTTP request. */
	readonly http: HttpAttempt | undefined
}

/** The HTTP request of an attempt. */
export interface HttpAttempt {
	readonly method: string
	/** The complete URL, which may contain secrets. */
	readonly url: string
	/** Returns true if the user has set this header, in lower case. */
	hasHeader(name: string): boolean
	/** Adds headers to the attempt that is about to start. */
	addHeaders(headers: Readonly<Record<string, string>>): void
}

/** Messages are written to an outbox. `next` returns a promise, or with `enqueueSync` the result. */
export interface EnqueueInfo {
	readonly type: 'enqueue'
	readonly outbox: string
	/** The topics of the messages; one if all have the same. */
	readonly topics: readonly string[]
	readonly count: number
	/** Adds headers to messages that do not have them. */
	addHeaders(headers: Readonly<Record<string, string>>): void
}

/** A relay delivers a message. `next` returns a promise. */
export interface DeliveryInfo {
	readonly type: 'delivery'
	readonly relay: string
	readonly destination: string
	readonly topic: string
	readonly messageId: string
	/** Counted from 1. */
	readonly attempt: number
	/** The headers that were stored with the message. */
	readonly headers: Readonly<Record<string, string>>
}
