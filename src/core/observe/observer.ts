/** What an observer receives: events, the ends of calls, and what `around` runs. */

import type { CallExtension } from '../engine/call-extension.ts'
import type { CallOutcome, EventBase } from '../events/events.ts'

/**
 * How much a subscription receives. `all`: every event, `call` events included. `notable`: no `call` events,
 * and no events that every call causes (`success` and `failure` of a circuit breaker, `retry_success` after a
 * single attempt), so that a call that succeeds at the first attempt creates no event.
 */
export type ObservationLevel = 'notable' | 'all'

/** Runs `next` exactly once and synchronously, and returns what it returned. */
export type Around = (info: AroundInfo, next: () => unknown) => unknown

/** All functions must not throw: telemetry catches the errors of user code itself. */
export interface Observer {
	/** Receives events, as many as `level` says. */
	onEvent?(event: EventBase): void
	/** Which events `onEvent` receives. Default `notable`. */
	readonly level?: ObservationLevel
	/** Receives the end of every call of a policy or client. */
	onCallEnd?(end: CallEnd): void
	/** Runs `next`, for example in an async context. */
	readonly around?: Around
	/**
	 * Only for an observer that catches its own errors, and whose `around` runs `next` exactly once and returns
	 * its result: then telemetry does not check that, and leaves out what the observer does not need.
	 */
	readonly trusted?: TrustedObserver
}

/** What an observer needs of a call. */
interface TrustedObserver {
	/** Returns false if `onCallEnd` is not needed for this call. */
	wantsCallEnd(call: CallInfo | undefined): boolean
	/**
	 * Returns false if `around` is not needed for the attempts of this call. Called after `around` has received
	 * the call.
	 */
	wantsAttempts(call: CallInfo): boolean
}

/** The end of a call: the facts of a `call` event without those that are expensive. */
export interface CallEnd {
	readonly type: 'call'
	/** The name of the policy, pipeline or client. */
	readonly emitter: string
	/** The call's key, such as an origin. */
	readonly key: string | undefined
	/** The call's `name`. */
	readonly call: string | undefined
	/** The method of the request, if the call sends one. */
	readonly method: string | undefined
	readonly outcome: CallOutcome
	/** How often the operation was called, hedges included. */
	readonly attempts: number
	/** How many of the attempts were retries. */
	readonly retries: number
	readonly durationMs: number
	readonly queuedMs: number
	readonly backoffMs: number
	/**
	 * The error, if the outcome is `failure` or `rejected`. If a policy rejected a retry, the error of the
	 * first attempt, which is the cause.
	 */
	readonly error: unknown
	/** The info that `around` received for this call, if there is an `around`. */
	readonly info: CallInfo | undefined
}

/** What `around` runs. */
export type AroundInfo = CallInfo | AttemptInfo | EnqueueInfo | DeliveryInfo | BatchInfo

/** A whole call. Its end is reported by `onCallEnd`, with the same object. */
export interface CallInfo {
	readonly type: 'call'
	/** The `callId` of the call's events; undefined before the first one. */
	readonly id: string | undefined
	readonly emitter: string
	readonly key: string | undefined
	readonly call: string | undefined
	readonly method: string | undefined
	/** What an observer, given as the key, needs at the end of the call. */
	readonly state: CallState
}

/** A Map of few entries. */
export interface CallState {
	get(owner: object): unknown
	set(owner: object, value: unknown): unknown
}

/** One attempt of a call. `next` returns what the operation returns; any thenable as a promise. */
export interface AttemptInfo {
	readonly type: 'attempt'
	readonly call: CallInfo
	/** Counted from 1; hedges have the number of the attempt that they hedge. */
	readonly attempt: number
	/** How often the operation was called before in this call, hedges included. */
	readonly resendCount: number
	/** The number of the hedge, from 1; 0 for attempts that are none. */
	readonly hedge: number
	/** What the protocol of the call has added to it. */
	readonly extension: CallExtension | undefined
}

/** Messages are written to an outbox. `next` returns a promise, or with `enqueueSync` the result. */
export interface EnqueueInfo {
	readonly type: 'enqueue'
	readonly outbox: string
	/** The topics of the messages; one if all have the same. */
	readonly topics: readonly string[]
	readonly count: number
	/** Adds headers to messages that have none of them. */
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

/** A relay delivers several messages in one call. `next` returns a promise. */
export interface BatchInfo {
	readonly type: 'batch'
	readonly relay: string
	readonly destination: string
	readonly deliveries: readonly DeliveryInfo[]
}
