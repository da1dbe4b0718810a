/** `yaoki/outbox/store`: the contract of a store, for people who write one. Check it with `outboxStoreConformance` of `yaoki/outbox/testing`. */
export type { Queryable, SqlClient, SqliteClient } from '../../sql/clients.ts'
export type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
export type { DeadLetterCause, MessageStatus, StoredError } from '../message/message.ts'
export { OutboxSchemaError, OutboxStoreError } from './errors.ts'
export type { InsertOptions } from './insert-options.ts'
export type {
	AfterDeadLetter,
	AuditAction,
	AuditRow,
	CircuitChange,
	CircuitOpenReason,
	ClaimedRow,
	ClaimRef,
	ClaimRequest,
	ClaimResult,
	ClaimTarget,
	DestinationCircuit,
	InsertResult,
	NewRow,
	OperatorChange,
	OperatorNote,
	OperatorPause,
	PauseReason,
	PermitRequest,
	RelayPauseReason,
	RelayReport,
	RelayRow,
	Settlement,
	SharedRate,
	StoredMessage,
	TokenGrant,
} from './rows.ts'
export type {
	AuditStore,
	CoordinationStore,
	DeadGroup,
	DeadLetterStore,
	DiagnosticsStore,
	DueDestinations,
	EnqueueStore,
	MessageEdit,
	NotificationStore,
	OutboxStore,
	QueueStore,
	RelayRegistry,
	SchemaStore,
	StoreAuditFilter,
	StoreFilter,
	SyncEnqueueStore,
} from './store.ts'
export type { BlockedKey, BlockedKeys, CappedCount, DestinationCounts, StoreStats } from './store-stats.ts'
