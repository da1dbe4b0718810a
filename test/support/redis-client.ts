import { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { type RealRedis, startRedis } from './real-redis.ts'

interface RedisClient {
	readonly redis: RealRedis
	readonly client: Redis
}

/** One real Redis with a client for all tests of a `describe`. Both exist as soon as the tests start. */
export function redisClient(): RedisClient {
	let redis: RealRedis
	let client: Redis
	beforeAll(async () => {
		redis = await startRedis()
		client = new Redis(redis.port, '127.0.0.1')
	})
	afterAll(async () => {
		await client?.quit()
		await redis?.[Symbol.asyncDispose]()
	})
	return {
		get redis() {
			return redis
		},
		get client() {
			return client
		},
	}
}
