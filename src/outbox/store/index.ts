/** `yaoki/outbox/store`: the contract of a store, for people who write one. Check it with `storeConformance` of `yaoki/outbox/testing`. */
export type { Queryable, SqlClient, SqliteClient } from '../../sql/clients.ts'
export type { DeadLetterCause, MessageStatus, StoredError } from '../message/message.ts'
export { SchemaVersionError, StoreError } from './errors.ts'
export type {
	AfterDeadLetter,
	CircuitChange,
	ClaimedRow,
	ClaimRef,
	ClaimRequest,
	ClaimResult,
	ClaimTarget,
	DestinationCircuit,
	InsertResult,
	NewRow,
	PauseReason,
	PermitRequest,
	Rate,
	RelayReport,
	RelayRow,
	Settlement,
	StoredMessage,
	TokenGrant,
} from './rows.ts'
export type {
	CappedCount,
	CoordinationStore,
	DeadGroup,
	DeadLetterStore,
	DestinationCounts,
	DiagnosticsStore,
	DueDestinations,
	EnqueueStore,
	MessageEdit,
	Migration,
	MigrationReport,
	NotificationStore,
	QueueStore,
	RelayRegistry,
	SchemaStore,
	Store,
	StoreFilter,
	StoreStats,
} from './store.ts'
