/** Events of a relay, serializable as JSON lines. `emitter` is the name of the relay. */
import type { ErrorFacts, EventBase } from '../../core/events/events.ts'
import type { DeadLetterCause } from '../message/message.ts'
import type { PauseReason, SharedCircuitState } from '../store/rows.ts'

interface DestinationEventBase extends EventBase {
	readonly destination: string
}

interface MessageEventBase extends DestinationEventBase {
	readonly messageId: string
	readonly topic: string
	/** The number of attempts so far, including this one. */
	readonly attempts: number
}

/** A message was sent and acked. */
interface SentEvent extends MessageEventBase {
	readonly type: 'relay_sent'
	readonly durationMs: number
	/** The time between due and acked. Approximate, because the clocks of relay and database may differ. */
	readonly lagMs: number
}

/** An attempt failed and will be retried. */
interface RetryScheduledEvent extends MessageEventBase, ErrorFacts {
	readonly type: 'relay_retry_scheduled'
	readonly durationMs: number
	/** The delay before the next attempt. */
	readonly delayMs: number
}

/** A message became a dead letter. */
interface DeadLetterEvent extends MessageEventBase, ErrorFacts {
	readonly type: 'relay_dead_letter'
	readonly cause: DeadLetterCause
}

/**
 * Why a claimed message was released: the relay stops, its destination is paused, the relay lost permits for
 * it, the retry budget is exhausted, a poison candidate must run alone, its lease expired before it was
 * started, the message before it in the order of its key was not sent, or its receiver still processes an
 * earlier attempt (`in-progress`).
 */
export type ReleaseReason =
	| 'stopping'
	| 'paused'
	| 'no-permit'
	| 'budget'
	| 'poison-check'
	| 'lease-expired'
	| 'not-first'
	| 'in-progress'

/** A claimed message was returned to the queue. The attempt does not count. */
interface ReleasedEvent extends MessageEventBase {
	readonly type: 'relay_released'
	readonly reason: ReleaseReason
}

/** The relay no longer holds the message; another relay may be sending it. */
interface LeaseLostEvent extends MessageEventBase {
	readonly type: 'relay_lease_lost'
}

/**
 * The circuit of a destination, which all relays share, opened, half-opened or closed. Has the error if one
 * failure opened it, at the relay that got it.
 */
interface DestinationStateChangeEvent extends DestinationEventBase, Partial<ErrorFacts> {
	readonly type: 'relay_state_change'
	readonly from: SharedCircuitState
	readonly to: SharedCircuitState
	/** How long relays do not claim messages for the destination. */
	readonly pausedForMs: number
	readonly reason?: PauseReason
	/**
	 * Ids of the dead letters that led to the reason `permanent-failures`. Replay them when the destination is
	 * fixed. Only at the relay that opened the circuit.
	 */
	readonly deadLetters?: readonly string[]
}

/**
 * All relays paused or resumed a destination, for example because of a Retry-After; its circuit state did not
 * change.
 */
interface DestinationPauseEvent extends DestinationEventBase {
	readonly type: 'relay_paused' | 'relay_resumed'
	/** How long relays do not claim messages for the destination; 0 if resumed. */
	readonly pausedForMs: number
	readonly reason?: PauseReason
}

/**
 * Handlers that run beyond their timeout occupy all slots of a destination: this relay sends nothing more to
 * it until one ends.
 */
interface HandlersHungEvent extends DestinationEventBase {
	readonly type: 'relay_handlers_hung'
	readonly count: number
}

/** A database operation failed; the relay retries it. */
export interface StoreErrorEvent extends EventBase, ErrorFacts {
	readonly type: 'relay_store_error'
	readonly operation: string
	readonly retryInMs: number
	/**
	 * The next claim asks for at most this many messages, because a larger one took too long and was cancelled.
	 */
	readonly claimLimit?: number
}

/** A database operation succeeded after failures. */
interface StoreRecoveredEvent extends EventBase {
	readonly type: 'relay_store_recovered'
	readonly operation: string
}

/** The relay started, is stopping, or has stopped. */
interface RelayLifecycleEvent extends EventBase {
	readonly type: 'relay_started' | 'relay_stopping' | 'relay_stopped'
}

/**
 * Every event of a relay, discriminated by `type`. Listeners of `relay.subscribe` and of the option `onEvent`
 * get it.
 */
export type RelayEvent =
	| SentEvent
	| RetryScheduledEvent
	| DeadLetterEvent
	| ReleasedEvent
	| LeaseLostEvent
	| DestinationStateChangeEvent
	| DestinationPauseEvent
	| HandlersHungEvent
	| StoreErrorEvent
	| StoreRecoveredEvent
	| RelayLifecycleEvent

/**
 * Receives every event synchronously. An exception is reported as a console warning and has no other effect.
 */
export type RelayListener = (event: RelayEvent) => void
