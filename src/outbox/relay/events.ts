/** What a relay tells: plain objects with a `type`, as JSON lines in and out, like those of policies. */
import type { CircuitState } from '../../core/events/events.ts'
import type { DeadLetterCause } from '../message/message.ts'
import type { PauseReason } from '../store/rows.ts'

interface RelayEventBase {
	/** The relay's name. */
	readonly relay: string
	/** Wall time, milliseconds since 1970. */
	readonly timestamp: number
}

interface MessageEventBase extends RelayEventBase {
	readonly id: string
	readonly topic: string
	readonly destination: string
	/** How many attempts there were, this one included. */
	readonly attempts: number
}

interface SentEvent extends MessageEventBase {
	readonly type: 'message_sent'
	readonly durationMs: number
	/** From when it was due until it was sent, as far as the relay's own clock and the database's agree. */
	readonly lagMs: number
}

interface FailedEvent extends MessageEventBase {
	readonly type: 'message_failed'
	readonly durationMs: number
	/** When it is tried again. */
	readonly retryInMs: number
	readonly errorType: string
	readonly errorMessage: string
}

interface DeadEvent extends MessageEventBase {
	readonly type: 'message_dead'
	readonly cause: DeadLetterCause
	readonly errorType?: string
	readonly errorMessage?: string
}

/**
 * Why a message was given back: the relay stops, its destination is left alone, there is no budget for its retry, another is to be tried
 * alone, or it waited here until its lease was over.
 */
export type ReleaseReason = 'stopping' | 'gate' | 'budget' | 'isolation' | 'lease'

/** It was given back unsent, without burning an attempt. */
interface ReleasedEvent extends MessageEventBase {
	readonly type: 'message_released'
	readonly reason: ReleaseReason
}

/** Another relay has it now, or may have: this one was believed dead. */
interface LostEvent extends MessageEventBase {
	readonly type: 'lease_lost'
}

/** A destination is left alone for a time, or let through again. */
interface GateEvent extends RelayEventBase {
	readonly type: 'gate_change'
	readonly destination: string
	readonly from: CircuitState
	readonly to: CircuitState
	readonly pausedForMs: number
	readonly reason?: PauseReason
}

/** All that a destination may run at a time hang beyond their time and do not end: nothing more is sent to it by this relay. */
interface HandlersHangEvent extends RelayEventBase {
	readonly type: 'handlers_hang'
	readonly destination: string
	readonly hanging: number
}

/** The database could not be asked; it is tried again. */
interface StoreFailedEvent extends RelayEventBase {
	readonly type: 'store_failed'
	readonly doing: string
	readonly errorType: string
	readonly errorMessage: string
	readonly retryInMs: number
}

interface StoreRecoveredEvent extends RelayEventBase {
	readonly type: 'store_recovered'
	readonly doing: string
}

interface RelayStateEvent extends RelayEventBase {
	readonly type: 'relay_started' | 'relay_stopping' | 'relay_stopped'
}

/** Everything that a relay may tell. `type` says which it is. */
export type RelayEvent =
	| SentEvent
	| FailedEvent
	| DeadEvent
	| ReleasedEvent
	| LostEvent
	| GateEvent
	| HandlersHangEvent
	| StoreFailedEvent
	| StoreRecoveredEvent
	| RelayStateEvent

type Details<Event> = Event extends RelayEvent ? Omit<Event, keyof RelayEventBase> : never

/** What a part of the relay adds to what all events share. */
export type RelayEventDetails = Details<RelayEvent>

/** Told every event, synchronously. What it throws is a warning on the console and changes nothing. */
export type RelayListener = (event: RelayEvent) => void
