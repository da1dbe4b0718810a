import { describe, test } from 'vitest'
import { redisIdempotencyStore } from '../../../src/idempotency/store/redis/redis-store.ts'
import { HAS_REDIS } from '../../support/real-redis.ts'
import { redisClient } from '../../support/redis-client.ts'
import { setupPostgres } from '../store/postgres/setup.ts'
import { storesNoSecret } from './secret-request.ts'

describe('PostgreSQL', () => {
	const database = setupPostgres()

	test('stores nothing of a request, no cookie and no other header', async () => {
		await storesNoSecret(database.store, async () => {
			const { rows: tables } = await database.pool.query<{ name: string }>(
				'select table_name as name from information_schema.tables where table_schema = $1',
				[database.schema],
			)
			const texts: string[] = []
			for (const { name } of tables) {
				// Bytes are hexadecimal digits in the text of a row.
				const { rows } = await database.pool.query<{ row: string }>(
					`select t::text as row from ${database.schema}.${name} t`,
				)
				texts.push(name, ...rows.map(({ row }) => row))
			}
			return Buffer.from(texts.join('\n'))
		})
	})
})

describe.skipIf(!HAS_REDIS)('Redis', () => {
	const redis = redisClient()

	/** The store has hashes only. Another type would need another command. */
	async function contentOf(name: string): Promise<Buffer[]> {
		const fields = await redis.client.callBuffer('HGETALL', name)
		return (fields as readonly Buffer[]).flatMap((part) => [part, Buffer.from('\n')])
	}

	test('stores nothing of a request, no cookie and no other header', async () => {
		const store = redisIdempotencyStore({ client: redis.client })
		await storesNoSecret(store, async () => {
			const names = await redis.client.keys('*')
			const contents = await Promise.all(names.map(contentOf))
			return Buffer.concat([Buffer.from(names.join('\n')), ...contents.flat()])
		})
	})
})
