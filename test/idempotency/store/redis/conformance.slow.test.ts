/** The suite that defines a store, run for a real Redis with both clients. */
import { afterAll, beforeAll, describe, test } from 'vitest'
import { idempotencyStoreConformance } from '../../../../src/idempotency/testing/index.ts'
import { HAS_REDIS, type RealRedis, startRedis } from '../../../support/real-redis.ts'
import { CLIENTS } from './open-redis.ts'

describe.skipIf(!HAS_REDIS)('Redis', () => {
	let redis: RealRedis
	beforeAll(async () => {
		redis = await startRedis()
	})
	afterAll(() => redis?.[Symbol.asyncDispose]())

	describe.each(Object.entries(CLIENTS))('with %s', (_, connect) => {
		let connections: Awaited<ReturnType<typeof connect>>
		beforeAll(async () => {
			connections = await connect(redis)
		})
		afterAll(() => connections?.close())

		for (const { name, run } of idempotencyStoreConformance(() => connections.open()))
			test.concurrent(name, run)
	})
})
