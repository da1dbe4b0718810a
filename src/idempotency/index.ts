/** Idempotency keys for servers: a repeated request gets the stored response. */

export { expressIdempotency } from './adapters/express.ts'
export { fastifyIdempotency } from './adapters/fastify.ts'
export { fetchIdempotency } from './adapters/fetch.ts'
export { honoIdempotency } from './adapters/hono.ts'
export { nodeIdempotency } from './adapters/node.ts'
export type { IdempotencyContext, IdempotencyRunContext } from './engine/context.ts'
export { type IdempotencyEngine, type IdempotencyStats, idempotency } from './engine/engine.ts'
export {
	IdempotencyConflictError,
	IdempotencyLeaseLostError,
	IdempotencyResponseNotStoredError,
} from './engine/errors.ts'
export type { IdempotencyEvent } from './engine/events.ts'
export type { IdempotencyOptions, IdempotencyRequest } from './engine/options.ts'
export type { IdempotencyRunOptions } from './engine/run-function.ts'
export { IdempotencySchemaError, IdempotencyStoreError } from './store/errors.ts'
export { type MemoryIdempotencyStoreOptions, memoryIdempotencyStore } from './store/memory-store.ts'
export type { PostgresIdempotencyStoreOptions } from './store/postgres/postgres-store.ts'
export { type PostgresIdempotencyStore, postgresIdempotencyStore } from './store/postgres/postgres-store.ts'
export { type RedisIdempotencyStoreOptions, redisIdempotencyStore } from './store/redis/redis-store.ts'
export type { SqliteIdempotencyStoreOptions, SqliteTransaction } from './store/sqlite/sqlite-store.ts'
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
