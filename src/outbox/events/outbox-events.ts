/** Events of an outbox: enqueued and changed messages. `emitter` is the name of the outbox. */
import type { EventBase } from '../../core/events/events.ts'

/** Messages were written. If that was in a transaction, it may still be rolled back. */
interface EnqueuedEvent extends EventBase {
	readonly type: 'outbox_enqueued'
	/** The number of messages written, without duplicates. */
	readonly count: number
	/** The number of messages not written because their dedupe key is known. */
	readonly duplicates: number
	/** The number of messages by topic, including duplicates. */
	readonly topics: Readonly<Record<string, number>>
}

/**
 * Dead letters were replayed or discarded, queued messages were made due by `retry` or ended by `expire`, or
 * sent messages were queued again by `resend`. One event per batch.
 */
export interface MessagesChangedEvent extends EventBase {
	readonly type:
		| 'outbox_replayed'
		| 'outbox_discarded'
		| 'outbox_retried'
		| 'outbox_expired'
		| 'outbox_resent'
	readonly count: number
}

/** Every event of an outbox, discriminated by `type`. Listeners of `outbox.subscribe` get it. */
export type OutboxEvent = EnqueuedEvent | MessagesChangedEvent

/**
 * Receives every event synchronously. An exception is reported as a console warning and has no other effect.
 */
export type OutboxListener = (event: OutboxEvent) => void
