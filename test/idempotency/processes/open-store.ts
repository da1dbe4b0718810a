/** The store of a server in a process of its own. A process loads only what it needs: many are started. */
import type { IdempotencyStore } from '../../../src/idempotency/store/store.ts'

/** As JSON, for the arguments of a process. */
export type StoreAddress =
	| { readonly kind: 'PostgreSQL'; readonly url: string }
	| { readonly kind: 'Redis'; readonly port: number }
	| { readonly kind: 'SQLite'; readonly file: string }

export async function openStore(address: StoreAddress): Promise<IdempotencyStore> {
	if (address.kind === 'Redis') {
		const { Redis } = await import('ioredis')
		const { redisIdempotencyStore } = await import('../../../src/idempotency/store/redis/redis-store.ts')
		return redisIdempotencyStore({ client: new Redis(address.port, '127.0.0.1') }) as IdempotencyStore
	}
	if (address.kind === 'SQLite') {
		const { sqliteIdempotencyStore } = await import('../../../src/idempotency/store/sqlite/sqlite-store.ts')
		return sqliteIdempotencyStore(address.file) as IdempotencyStore
	}
	const { default: pg } = await import('pg')
	const { postgresIdempotencyStore } = await import(
		'../../../src/idempotency/store/postgres/postgres-store.ts'
	)
	const client = new pg.Pool({ connectionString: address.url, max: 8 })
	return postgresIdempotencyStore({ client }) as IdempotencyStore
}
