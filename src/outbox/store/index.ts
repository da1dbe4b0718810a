/** `yaoki/outbox/store`: the contract of a store, for people who write one. Check it with `outboxStoreConformance` of `yaoki/outbox/testing`. */
export type { Queryable } from '../../sql/clients.ts'
export type { Migration, MigrationReport } from '../../sql/schema/migration.ts'
export type { StoredError } from '../message/message.ts'
export type { EndpointStore } from './endpoint-store.ts'
export type {
	AttemptRow,
	AuditRow,
	CircuitChange,
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
	PermitRequest,
	RelayReport,
	RelayRow,
	Settlement,
	SharedRate,
	StoredMessage,
	TokenGrant,
} from './rows.ts'
export type {
	DeadGroupRow,
	DueDestinations,
	InsertOptions,
	MessageEdit,
	OutboxStore,
	StoreAuditFilter,
	StoreFilter,
} from './store.ts'
export type { CappedCount, DestinationCounts, StoreStats } from './store-stats.ts'
