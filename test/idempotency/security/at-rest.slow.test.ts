import { describe, test } from 'vitest'
import { redisIdempotencyStore } from '../../../src/idempotency/store/redis/redis-store.ts'
import { HAS_REDIS } from '../../support/real-redis.ts'
import { redisClient } from '../../support/redis-client.ts'
import { postgresRig } from '../store/postgres/rig.ts'
import { storesNoSecret } from './secret-request.ts'

describe('PostgreSQL', () => {
	const rig = postgresRig()

	test('stores nothing of a request, no cookie and no other header', async () => {
		await storesNoSecret(rig.store, async () => {
			const { rows: tables } = await rig.pool.query<{ name: string }>(
				'select table_name as name from information_schema.tables where table_schema = $1',
				[rig.schema],
			)
			const texts: string[] = []
			for (const { name } of tables) {
				// Bytes are hexadecimal digits in the text of a row.
				const { rows } = await rig.pool.query<{ row: string }>(
					`select t::text as row from ${rig.schema}.${name} t`,
				)
				texts.push(name, ...rows.map(({ row }) => row))
			}
			return Buffer.from(texts.join('\n'))
		})
	})
})

describe.skipIf(!HAS_REDIS)('Redis', () => {
	const rig = redisClient()

	/** The store has hashes only. Another type would need another command. */
	async function contentOf(name: string): Promise<Buffer[]> {
		const fields = await rig.client.callBuffer('HGETALL', name)
		return (fields as readonly Buffer[]).flatMap((part) => [part, Buffer.from('\n')])
	}

	test('stores nothing of a request, no cookie and no other header', async () => {
		const store = redisIdempotencyStore({ client: rig.client })
		await storesNoSecret(store, async () => {
			const names = await rig.client.keys('*')
			const contents = await Promise.all(names.map(contentOf))
			return Buffer.concat([Buffer.from(names.join('\n')), ...contents.flat()])
		})
	})
})
