/**
 * `yaoki/outbox`: messages written in your own transaction, and relays that deliver them with retries that
 * survive a restart.
 */

export type { Queryable } from '../sql/clients.ts'
export { drizzleTx } from '../sql/orms/drizzle.ts'
export { knexTx } from '../sql/orms/knex.ts'
export { kyselyTx } from '../sql/orms/kysely.ts'
export { mikroOrmTx } from '../sql/orms/mikro-orm.ts'
export { postgresJsTx } from '../sql/orms/postgres-js.ts'
export { prismaTx } from '../sql/orms/prisma.ts'
export { sequelizeTx } from '../sql/orms/sequelize.ts'
export { typeormTx } from '../sql/orms/typeorm.ts'
export type { DeadLetterGroup, ReplayReport } from './dead-letters/options.ts'
export type { AttemptLogOptions } from './destinations/attempt-log-options.ts'
export { type BatchDestinationOptions, batchDestination } from './destinations/batch-destination.ts'
export type { BatchReport } from './destinations/batch-report.ts'
export type {
	DeliveryContext,
	Destination,
	MessageHandler,
} from './destinations/destination.ts'
export { type HttpDestinationOptions, httpDestination } from './destinations/http-destination.ts'
export type { MessageAttempt } from './diagnostics/attempts.ts'
export type { OutboxStats } from './diagnostics/stats.ts'
export type { EnqueueOptions } from './enqueue/transaction-check.ts'
export type { OutboxEvent } from './events/outbox-events.ts'
export type { RelayEvent } from './events/relay-events.ts'
export {
	InboxConflictError,
	InboxSchemaError,
	InboxStoreError,
	InboxTransactionError,
} from './inbox/errors.ts'
export type { InboxEvent } from './inbox/events.ts'
export { Inbox } from './inbox/inbox.ts'
export type { InboxOptions } from './inbox/inbox-options.ts'
export type { InboxStats } from './inbox/inbox-stats.ts'
export { postgresInboxStore } from './inbox/store/postgres/postgres-store.ts'
export { sqliteInboxStore } from './inbox/store/sqlite/sqlite-store.ts'
export type { InboxStore } from './inbox/store/store.ts'
export { InvalidMessageError, OutboxTransactionError } from './message/errors.ts'
export type { MessageFilter } from './message/filter.ts'
export type {
	DeadLetterCause,
	EnqueueResult,
	FanOutResult,
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
export { OutboxLeaseLostError, RelayStoppedError } from './relay/handler-signal.ts'
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
export type { WebhookEndpoint } from './webhooks/endpoint.ts'
export type { NewWebhookEndpoint } from './webhooks/endpoint-options.ts'
export { WebhookEndpointError } from './webhooks/errors.ts'
export type { WebhookEvent } from './webhooks/events.ts'
export { WebhookUrlError } from './webhooks/transport/webhook-url-error.ts'
export {
	type WebhookMessage,
	Webhooks,
} from './webhooks/webhooks.ts'
export type { SsrfProtectionOptions, WebhooksOptions } from './webhooks/webhooks-options.ts'
