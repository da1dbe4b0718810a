/**
 * `yaoki/outbox`: messages written in your own transaction, and relays that deliver them with retries that
 * survive a restart.
 */

export type { Queryable } from '../sql/clients.ts'
export type { DeadLetterGroup, ReplayReport } from './dead-letters/options.ts'
export type {
	AttemptLogOptions,
	DeliveryContext,
	Destination,
	MessageHandler,
} from './destinations/destination.ts'
export { type HttpDestinationOptions, httpDestination } from './destinations/http-destination.ts'
export type { AttemptRecord } from './diagnostics/attempts.ts'
export type { OutboxStats } from './diagnostics/stats.ts'
export type { EnqueueOptions } from './enqueue/transaction-check.ts'
export type { OutboxEvent } from './events/outbox-events.ts'
export type { RelayEvent } from './events/relay-events.ts'
export { InvalidMessageError, OutboxTransactionError } from './message/errors.ts'
export type { MessageFilter } from './message/filter.ts'
export type {
	DeadLetterCause,
	EnqueueResult,
	Message,
	MessageRecord,
	MessageStatus,
	NewMessage,
	Topics,
} from './message/message.ts'
export type { RedactMessage } from './message/redact.ts'
export { redactFields } from './message/redact.ts'
export type { AuditRecord } from './operator/audit.ts'
export {
	DeadLetterNotFoundError,
	MessageNotQueuedError,
	MessageNotSentError,
} from './operator/require-status.ts'
export { Outbox } from './outbox.ts'
export type { OutboxOptions } from './outbox-options.ts'
export { OutboxLeaseLostError, RelayStoppedError } from './relay/delivery.ts'
export type { RelayOptions } from './relay/options.ts'
export { Relay, type RelayStats } from './relay/relay.ts'
export { OutboxSchemaError, OutboxStoreError } from './store/errors.ts'
export type { PostgresOutboxStoreOptions } from './store/postgres/postgres-store.ts'
export { type PostgresOutboxStore, postgresOutboxStore } from './store/postgres/postgres-store.ts'
export {
	type SqliteOutboxStore,
	type SqliteOutboxStoreOptions,
	sqliteOutboxStore,
} from './store/sqlite/sqlite-store.ts'
