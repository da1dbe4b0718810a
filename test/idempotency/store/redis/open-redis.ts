/** Stores in a real Redis, each under a prefix of its own, through both clients. */
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { redisIdempotencyStore } from '../../../../src/idempotency/store/redis/redis-store.ts'
import type { IdempotencyStoreUnderTest } from '../../../../src/idempotency/testing/index.ts'
import type { RealRedis } from '../../../support/real-redis.ts'

/** Opens two connections by a client. */
export type Connect = (redis: RealRedis) => Promise<Connections>

interface Connections {
	readonly open: () => IdempotencyStoreUnderTest
	close(): Promise<void>
}

let prefixes = 0

const underTest = (storeWith: (n: 0 | 1, prefix: string) => IdempotencyStoreUnderTest['store']) => () => {
	const prefix = `test ${++prefixes}:`
	return {
		store: storeWith(0, prefix),
		another: async () => storeWith(1, prefix),
		purgesItself: true,
		close() {},
	}
}

export const CLIENTS: Readonly<Record<string, Connect>> = {
	async ioredis({ port }) {
		const clients = [new Redis(port, '127.0.0.1'), new Redis(port, '127.0.0.1')] as const
		return {
			open: underTest((n, prefix) => redisIdempotencyStore({ client: clients[n], prefix })),
			close: async () => {
				for (const client of clients) await client.quit()
			},
		}
	},
	async 'node-redis'({ url }) {
		const clients = [await createClient({ url }).connect(), await createClient({ url }).connect()] as const
		return {
			open: underTest((n, prefix) => redisIdempotencyStore({ client: clients[n], prefix })),
			close: async () => {
				for (const client of clients) await client.close()
			},
		}
	},
	async 'node-redis with RESP3'({ url }) {
		const client = await createClient({ url, RESP: 3 }).connect()
		return {
			open: underTest((_, prefix) => redisIdempotencyStore({ client, prefix })),
			close: () => client.close(),
		}
	},
}
