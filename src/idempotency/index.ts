/** Idempotency keys for servers: a repeated request gets the stored response. */

export type { Queryable } from '../sql/clients.ts'
export type { Migration, MigrationReport } from '../sql/schema/migration.ts'
export { type ExpressRequest, expressIdempotency } from './adapters/express.ts'
export {
	type FastifyApp,
	type FastifyReply,
	type FastifyRequest,
	fastifyIdempotency,
} from './adapters/fastify.ts'
export { fetchIdempotency, type IdempotentFetchHandler } from './adapters/fetch.ts'
export { type HonoContext, honoIdempotency } from './adapters/hono.ts'
export { type IdempotentNodeHandler, nodeIdempotency } from './adapters/node.ts'
export type { NodeRequest, NodeResponse, NodeSocket } from './adapters/node-http/node-types.ts'
export type { BeginOptions, BeginResult } from './engine/begin-result.ts'
export { IdempotencyClaim, type StepContext } from './engine/claim.ts'
export {
	type DeleteOptions,
	IdempotencyEngine,
	type IdempotencyStats,
	idempotency,
	type PurgeOptions,
} from './engine/engine.ts'
export {
	IdempotencyConflictError,
	IdempotencyLeaseLostError,
	IdempotencyResponseNotStoredError,
} from './engine/errors.ts'
export type {
	ConflictReason,
	IdempotencyEvent,
	IdempotencyListener,
	StoreOperation,
} from './engine/events.ts'
export type {
	HandledResponse,
	IdempotencyOptions,
	IdempotencyRequest,
	RequestHeaders,
} from './engine/options.ts'
export type { CompleteOptions, IdempotencyContext, IdempotencyRunContext } from './engine/request-context.ts'
export type { IdempotencyRunOptions } from './engine/run-function.ts'
export {
	type FingerprintInput,
	type FingerprintOptions,
	fingerprintOf,
	type ParsedBody,
} from './key/fingerprint.ts'
export type { IdempotencyIdentity } from './key/identity.ts'
export type { ProblemCode } from './response/problems.ts'
export { IdempotencySchemaError, IdempotencyStoreError } from './store/errors.ts'
export { type MemoryIdempotencyStoreOptions, memoryIdempotencyStore } from './store/memory-store.ts'
export type { PostgresIdempotencyStoreOptions, PostgresTransaction } from './store/postgres/options.ts'
export { type PostgresIdempotencyStore, postgresIdempotencyStore } from './store/postgres/postgres-store.ts'
export type { IoredisClient, NodeRedisClient, RedisClient } from './store/redis/clients.ts'
export { type RedisIdempotencyStoreOptions, redisIdempotencyStore } from './store/redis/redis-store.ts'
export type { SqlIdempotencyStore } from './store/sql-store.ts'
export type { SqliteIdempotencyStoreOptions, SqliteTransaction } from './store/sqlite/options.ts'
export { type SqliteIdempotencyStore, sqliteIdempotencyStore } from './store/sqlite/sqlite-store.ts'
export type {
	IdempotencyClaimRef,
	IdempotencyClaimRequest,
	IdempotencyClaimResult,
	IdempotencyStore,
	StoredKey,
	StoredResponse,
	StoredSteps,
} from './store/store.ts'
