/**
 * Everything that policies emit, as one union of plain objects: `JSON.stringify` writes an event as one line
 * and `JSON.parse` reads the same object back. Logs, metrics and traces are listeners. All facts are fields,
 * so that no listener has to parse a message.
 */
import type { AttemptOutcome, DelaySource, StopReason } from '../explain/record.ts'

/**
 * The state of a circuit: `currentState` of a `CircuitBreaker`, `from` and `to` of the event `state_change`.
 * `closed`: calls pass. `open`: calls are rejected. `half-open`: a few probes pass. `isolated`: calls are
 * rejected until the isolation is released.
 */
export type CircuitState = 'closed' | 'open' | 'half-open' | 'isolated'

/**
 * The fields that all events share, in every part of the package. `onEvent` of an `Exporter` gets it, for
 * listeners of several kinds of events.
 */
export interface EventBase {
	readonly type: string
	/** Wall time, milliseconds since 1970. */
	readonly timestamp: number
	/** The name of the policy, client, relay, outbox or idempotency engine that emits the event. */
	readonly emitter: string
	/** The name of the pipeline, if it has one. */
	readonly pipeline?: string
	/** The key of the policy in `keyed`, or of the call: an origin, a tenant. */
	readonly key?: string
	/** Identifies the call, if a call caused the event. Unique across processes. */
	readonly callId?: string
	/** The call's `name`, if it has one. */
	readonly call?: string
	/** The attempt that was running, counted from 1, if a call caused the event. */
	readonly attempt?: number
	/** The method of the request, if the call sends one: `'GET'`, or the name of a remote procedure. */
	readonly method?: string
}

/**
 * What is known about an error, as fields. Events of failures, such as `retry_attempt`, `failure` and
 * `relay_dead_letter`, have them.
 */
export interface ErrorFacts {
	/** The error's `name`. */
	readonly errorType?: string
	/**
	 * The error's message, with the message of its cause. At most 1,000 characters; URLs in it are reduced to origin
	 * and path. Do not parse it: use the other fields for decisions.
	 */
	readonly errorMessage?: string
	/** The error's `code`: `ECONNRESET`, `YAOKI_TIMEOUT`, a SQLSTATE, ... */
	readonly errorCode?: string | number
	/** The HTTP status. */
	readonly statusCode?: number
	/** The timeout that expired. */
	readonly timeoutMs?: number
	/** The wait that the dependency asked for, or the time until the policy accepts calls again. */
	readonly retryAfterMs?: number
}

/** A retry was scheduled. */
export interface RetryAttemptEvent extends EventBase, ErrorFacts {
	readonly type: 'retry_attempt'
	/** The number of the retry, from 1. The attempt that failed has the same number. */
	readonly attempt: number
	/** Null if only time limits the retries. */
	readonly maxRetries: number | null
	readonly delayMs: number
	readonly delaySource: DelaySource
	/** How the failed attempt ended. */
	readonly outcome: AttemptOutcome
}

/** A call succeeded inside its retry policy. */
interface RetrySuccessEvent extends EventBase {
	readonly type: 'retry_success'
	/** The number of attempts, at least 1. */
	readonly attempts: number
	readonly durationMs: number
}

/** A call failed, and its retry policy makes no more attempts. */
export interface RetryFailureEvent extends EventBase, ErrorFacts {
	readonly type: 'retry_failure'
	readonly attempts: number
	readonly durationMs: number
	readonly stop: StopReason
}

/** An operation took longer than its timeout. */
interface TimeoutEvent extends EventBase {
	readonly type: 'timeout'
	readonly timeoutMs: number
}

/** A policy rejected a call. */
interface RejectedEvent extends EventBase {
	readonly type: 'rejected'
	readonly reason:
		| 'circuit-open'
		| 'isolated'
		| 'bulkhead-full'
		| 'queue-timeout'
		| 'nested-call'
		| 'deadline'
		| 'rate-limited'
		| 'adaptive-throttle'
	/** When a call may be let in again, if that is known. */
	readonly retryAfterMs?: number
	/** True if a breaker in shadow mode let the call pass that it would have rejected. */
	readonly shadow?: boolean
}

/** A circuit changed its state. */
interface StateChangeEvent extends EventBase {
	readonly type: 'state_change'
	readonly from: CircuitState
	readonly to: CircuitState
	/** True if the breaker is in shadow mode: it rejects no call in any state. */
	readonly shadow?: boolean
}

/** A call succeeded inside a circuit breaker. */
interface SuccessEvent extends EventBase {
	readonly type: 'success'
	readonly durationMs: number
}

/** A call failed inside a circuit breaker, and the breaker counts it. */
interface FailureEvent extends EventBase, ErrorFacts {
	readonly type: 'failure'
	readonly durationMs: number
}

/** A fallback replaced the result of a call that failed. */
interface FallbackEvent extends EventBase, ErrorFacts {
	readonly type: 'fallback'
}

/** A hedge was sent, was skipped because the budget was exhausted, or returned first. */
interface HedgeEvent extends EventBase {
	readonly type: 'hedge'
	readonly outcome: 'sent' | 'no-budget' | 'won'
	/** The number of the hedge, from 1. */
	readonly hedge: number
}

/** A part of a response has arrived; with `downloadProgress`, also after the `call` event. */
interface DownloadProgressEvent extends EventBase {
	readonly type: 'download_progress'
	/** The bytes so far, after decompression. */
	readonly receivedBytes: number
	/** The size of the body, if the server has sent it. */
	readonly totalBytes?: number
}

/** An adaptive bulkhead changed its limit. */
interface LimitChangeEvent extends EventBase {
	readonly type: 'limit_change'
	readonly from: number
	readonly to: number
}

/** How a call ended. `rejected`: a policy rejected the call. `failure`: any other error. */
export type CallOutcome = 'success' | 'fallback' | 'failure' | 'rejected'

/** A call has ended: the last event of the call, emitted by the policy or client that was called. */
export interface CallEvent extends EventBase, ErrorFacts {
	readonly type: 'call'
	/** Details are in `stop`. */
	readonly outcome: CallOutcome
	/** How often the operation was called, hedges included; 0 if the call was rejected before. */
	readonly attempts: number
	/** The time from the call to its result, waits included. */
	readonly durationMs: number
	/** The part of `durationMs` that the call waited in queues and for rate limits. */
	readonly queuedMs: number
	/** The part of `durationMs` that the call waited before retries. */
	readonly backoffMs: number
	/** Why there were no more attempts, as in `explain`. */
	readonly stop: StopReason
}

/**
 * Every event that a policy emits, discriminated by `type`. Listeners of `policy.subscribe` and of the
 * `onEvent` option of clients get it.
 */
export type YaokiEvent =
	| RetryAttemptEvent
	| RetrySuccessEvent
	| RetryFailureEvent
	| TimeoutEvent
	| RejectedEvent
	| StateChangeEvent
	| SuccessEvent
	| FailureEvent
	| FallbackEvent
	| HedgeEvent
	| LimitChangeEvent
	| DownloadProgressEvent
	| CallEvent

/** A line of an event log that stands for this many events, which the log could not write. */
export interface DroppedEvents extends EventBase {
	readonly type: 'telemetry_events_dropped'
	readonly count: number
}

/** Returns true for an event that every call causes, also one that succeeds at the first attempt. */
export const isRoutineEvent = (event: YaokiEvent): boolean =>
	event.type === 'success' ||
	event.type === 'failure' ||
	(event.type === 'retry_success' && event.attempts === 1)

type SharedFields = Exclude<keyof EventBase, 'type'>

type Details<Event> = Event extends RetryAttemptEvent
	? Omit<Event, Exclude<SharedFields, 'attempt'>>
	: Event extends YaokiEvent
		? Omit<Event, SharedFields>
		: never

/** What a policy passes to `emit`; the shared fields are added there. */
export type EventDetails = Details<YaokiEvent>

/**
 * A listener is called synchronously with every event. If it throws, the error is reported as a console
 * warning and does not affect the call.
 *
 * @example
 * const unsubscribe = policy.subscribe((event) => console.log(JSON.stringify(event)))
 */
export type PolicyListener = (event: YaokiEvent) => void
