import { afterAll, beforeAll, describe } from 'vitest'
import { HAS_REDIS, type RealRedis, startRedis } from '../../support/real-redis.ts'
import { setupPostgres } from '../store/postgres/setup.ts'
import { CLIENTS } from '../store/redis/open-redis.ts'
import { sharedDatabase } from './shared-database.ts'

describe('one PostgreSQL schema', () => {
	const database = setupPostgres()
	sharedDatabase(() => database.another().store)
})

describe.skipIf(!HAS_REDIS).each(Object.entries(CLIENTS))('one Redis with %s', (_, connect) => {
	let redis: RealRedis
	let connections: Awaited<ReturnType<typeof connect>>
	beforeAll(async () => {
		redis = await startRedis()
		connections = await connect(redis)
	})
	afterAll(async () => {
		await connections?.close()
		await redis?.[Symbol.asyncDispose]()
	})
	let another:
		| (() => ReturnType<NonNullable<ReturnType<(typeof connections)['open']>['another']>>)
		| undefined
	sharedDatabase(async () => {
		if (another) {
			const opened = await another()
			another = undefined
			return opened
		}
		const opened = connections.open()
		another = opened.another?.bind(opened)
		return opened.store
	})
})
