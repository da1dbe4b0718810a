import { afterAll, beforeAll, describe } from 'vitest'
import { HAS_REDIS, type RealRedis, startRedis } from '../../support/real-redis.ts'
import { postgresRig } from '../store/postgres/rig.ts'
import { CLIENTS, type Connect } from '../store/redis/open-redis.ts'
import { clockCases } from './clock-cases.ts'

describe('PostgreSQL', () => {
	const rig = postgresRig()
	clockCases(() => ({
		store: rig.store,
		another: async () => rig.another().store,
		advance: rig.advance,
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
