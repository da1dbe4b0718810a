/** Idempotency keys for servers: a repeated request gets the stored response. */

export { drizzleTx } from '../sql/orms/drizzle.ts'
export { knexTx } from '../sql/orms/knex.ts'
export { kyselyTx } from '../sql/orms/kysely.ts'
export { mikroOrmTx } from '../sql/orms/mikro-orm.ts'
export { postgresJsTx } from '../sql/orms/postgres-js.ts'
export { prismaTx } from '../sql/orms/prisma.ts'
export { sequelizeTx } from '../sql/orms/sequelize.ts'
export { typeormTx } from '../sql/orms/typeorm.ts'
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
