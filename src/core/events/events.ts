/**
 * Everything that a policy tells, as one union of plain objects: `JSON.stringify` writes one as a line and `JSON.parse`
 * reads the same object back. Logs, metrics and traces are listeners of it.
 */
import type { AttemptOutcome, DelaySource, StopReason } from '../explain/record.ts'

/** What a circuit breaker is: it lets calls through, refuses them, or lets a few through to see. */
export type CircuitState = 'closed' | 'open' | 'half-open'

interface EventBase {
	/** The policy's name. */
	readonly policy: string
	/** Wall time, milliseconds since 1970. */
	readonly timestamp: number
	/** The name of the pipeline that the call went through, if it has one. */
	readonly pipeline?: string
	/** The call's `name`, if it was given one. */
	readonly call?: string
	/** The call's `key`, if it was given one. */
	readonly key?: string
}

/** A retry is about to be waited for. */
export interface RetryAttemptEvent extends EventBase {
	readonly type: 'retry_attempt'
	/** Which retry this is, from 1. */
	readonly attempt: number
	/** Null when there is no limit but time. */
	readonly maxRetries: number | null
	readonly delayMs: number
	readonly delaySource: DelaySource
	/** What the attempt before it came to. */
	readonly outcome: AttemptOutcome
	readonly errorType?: string
	readonly errorMessage?: string
}

/** A call came through its retry policy with a result. */
export interface RetrySuccessEvent extends EventBase {
	readonly type: 'retry_success'
	/** How many attempts it took, at least 1. */
	readonly attempts: number
	readonly durationMs: number
}

/** A retry policy gave a call up. */
export interface RetryFailureEvent extends EventBase {
	readonly type: 'retry_failure'
	readonly attempts: number
	readonly durationMs: number
	readonly stop: StopReason
	readonly errorType?: string
	readonly errorMessage?: string
}

/** Work took longer than its timeout. */
interface TimeoutEvent extends EventBase {
	readonly type: 'timeout'
	readonly timeoutMs: number
}

/** A policy did not let a call in. */
export interface RejectedEvent extends EventBase {
	readonly type: 'rejected'
	readonly reason:
		| 'circuit-open'
		| 'bulkhead-full'
		| 'queue-timeout'
		| 'deadline'
		| 'rate-limited'
		| 'throttled'
	/** When it may be tried again, where that is known. */
	readonly retryAfterMs?: number
	/** True when a breaker in shadow mode only would have rejected it. */
	readonly shadow?: boolean
}

/** A circuit breaker opened, closed or began to probe. */
interface StateChangeEvent extends EventBase {
	readonly type: 'state_change'
	readonly from: CircuitState
	readonly to: CircuitState
}

/** A call inside a circuit breaker went well. */
interface SuccessEvent extends EventBase {
	readonly type: 'success'
	readonly durationMs: number
}

/** A call inside a circuit breaker failed in a way that speaks against the other side. */
interface FailureEvent extends EventBase {
	readonly type: 'failure'
	readonly durationMs: number
	readonly errorType?: string
	readonly errorMessage?: string
}

/** A fallback answers in the place of a call that failed. */
interface FallbackEvent extends EventBase {
	readonly type: 'fallback'
	readonly errorType: string
	readonly errorMessage: string
}

/** A second request was sent, or was held back by its budget; or it answered first. */
interface HedgeEvent extends EventBase {
	readonly type: 'hedge'
	readonly outcome: 'sent' | 'no-budget' | 'won'
	/** Which of the hedges it is, from 1. */
	readonly hedge: number
}

/** An adaptive bulkhead changed its limit. */
interface LimitChangeEvent extends EventBase {
	readonly type: 'limit_change'
	readonly from: number
	readonly to: number
}

/** Everything that a policy may tell. `type` says which it is. */
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

type Details<Event> = Event extends YaokiEvent ? Omit<Event, keyof EventBase> : never

/** What a policy adds to the part that all events share. */
export type EventDetails = Details<YaokiEvent>

/**
 * Told every event, synchronously. What it throws is a warning on the console and changes nothing for the call.
 *
 * @example
 * const stop = policy.subscribe((event) => console.log(JSON.stringify(event)))
 */
export type PolicyListener = (event: YaokiEvent) => void
