/** Events of an inbox. `emitter` is the name of the inbox. */
import type { ErrorFacts, EventBase } from '../../core/events/events.ts'

interface InboxEventBase extends EventBase {
	readonly messageId: string
}

/** The function of a message has run, in a transaction that may still be rolled back. */
interface ProcessedEvent extends InboxEventBase {
	readonly type: 'inbox_processed'
	/** The time that mark and function took. */
	readonly durationMs: number
}

/** A message was not processed, because it was processed before. */
interface DuplicateEvent extends InboxEventBase {
	readonly type: 'inbox_duplicate'
}

/** A message was rejected, because an earlier delivery of it is in flight. */
interface ConflictEvent extends InboxEventBase {
	readonly type: 'inbox_conflict'
	readonly retryAfterMs: number
}

/** The function of a message, its mark or its transaction failed. The message can be processed again. */
interface FailedEvent extends InboxEventBase, ErrorFacts {
	readonly type: 'inbox_failed'
	readonly durationMs: number
}

/** Every event of an inbox, discriminated by `type`. Listeners of `inbox.subscribe` get it. */
export type InboxEvent = ProcessedEvent | DuplicateEvent | ConflictEvent | FailedEvent

/**
 * Receives every event synchronously. An exception is reported as a console warning and has no other effect.
 */
export type InboxListener = (event: InboxEvent) => void
