import { afterAll, beforeAll, describe } from 'vitest'
import { HAS_REDIS, type RealRedis, startRedis } from '../../support/real-redis.ts'
import { setupPostgres } from '../store/postgres/setup.ts'
import { CLIENTS, type Connect } from '../store/redis/open-redis.ts'
import { clockCases } from './clock-cases.ts'

describe('PostgreSQL', () => {
	const database = setupPostgres()
	clockCases(() => ({
		store: database.store,
		another: async () => database.another().store,
		advance: database.advance,
		close() {},
	}))
})

describe.skipIf(!HAS_REDIS)('Redis', () => {
	let redis: RealRedis
	let connections: Awaited<ReturnType<Connect>>
	beforeAll(async () => {
		redis = await startRedis()
		connections = await (CLIENTS['ioredis'] as Connect)(redis)
	})
	afterAll(async () => {
		await connections?.close()
		await redis?.[Symbol.asyncDispose]()
	})
	clockCases(() => connections.open())
})
