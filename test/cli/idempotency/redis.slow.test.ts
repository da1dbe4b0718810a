/** The commands on a real Redis. */

import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { identityHash } from '../../../src/idempotency/key/identity.ts'
import { redisIdempotencyStore } from '../../../src/idempotency/store/redis/redis-store.ts'
import { HAS_REDIS, type RealRedis, startRedis } from '../../support/real-redis.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { run } from '../outbox/run-yaoki.ts'

const SELECTED = ['k', '--name', 'payments', '--principal', 'p', '--route', '/charges']

describe.skipIf(!HAS_REDIS)('Redis', () => {
	let redis: RealRedis
	beforeAll(async () => {
		redis = await startRedis()
	})
	afterAll(() => redis?.[Symbol.asyncDispose]())

	test.each(['ioredis', 'node-redis'])('show, resolve, delete and purge, with %s', async (name) => {
		let loaded = 'ioredis'
		if (name === 'node-redis') {
			// As if only this client were installed.
			vi.spyOn(process, 'cwd').mockReturnValue(temporaryFolder())
			vi.doMock('ioredis', () => {
				loaded = name
				throw new Error('not installed')
			})
		}
		const client = new Redis(redis.port, '127.0.0.1')
		const prefix = `${name}:`
		try {
			const yaoki = (...args: string[]) => run(['idempotency', ...args], { DATABASE_URL: redis.url })
			const store = redisIdempotencyStore({ client, prefix })
			const identity = { principal: 'p', method: 'POST', route: '/charges', key: 'k' }
			const id = await identityHash('payments', identity)
			const request = { fingerprint: 'f', token: 't', retentionMs: 86_400_000, abandoned: 'reject' } as const
			expect((await yaoki('show', ...SELECTED, '--prefix', prefix)).code).toBe(3)
			await store.claim({ id, ...request, leaseMs: 1 })
			await vi.waitFor(async () => expect((await store.find(id))?.leaseLeftMs).toBeLessThan(0))
			expect((await yaoki('show', ...SELECTED, '--prefix', prefix)).stdout).toMatch(/state +abandoned/)
			// Without the prefix it is another key.
			expect((await yaoki('show', ...SELECTED)).code).toBe(3)
			expect((await yaoki('resolve', ...SELECTED, '--prefix', prefix, '--status', '201')).code).toBe(0)
			expect((await yaoki('show', ...SELECTED, '--prefix', prefix)).stdout).toMatch(/status +201/)
			expect((await yaoki('delete', ...SELECTED, '--prefix', prefix, '--yes')).code).toBe(0)
			expect(await store.find(id)).toBeUndefined()
			expect((await yaoki('purge')).stdout).toBe('Redis deletes expired keys by itself.\n')
			const { code, stderr } = await yaoki('migrate')
			expect(code).toBe(2)
			expect(stderr).toContain('Redis needs no tables')
			expect(loaded).toBe(name)
		} finally {
			await client.quit()
			vi.doUnmock('ioredis')
		}
	})
})

test('an unreachable server exits with 5 and does not print the password', async () => {
	const args = ['idempotency', 'show', ...SELECTED, '--debug']
	const { code, stderr } = await run(args, { DATABASE_URL: 'redis://ada:hunter2@127.0.0.1:1/0' })
	expect(code).toBe(5)
	expect(stderr).toContain('Cannot reach redis://ada@127.0.0.1:1/0')
	expect(stderr).not.toContain('hunter2')
})

test('options of other databases are rejected', async () => {
	const onRedis = { DATABASE_URL: 'redis://127.0.0.1:1' }
	expect((await run(['idempotency', 'purge', '--schema', 'a'], onRedis)).stderr).toContain(
		'--schema requires a PostgreSQL database.',
	)
	expect((await run(['idempotency', 'purge', '--prefix', 'a', '--database', 'a.db'])).stderr).toContain(
		'--prefix requires a Redis database.',
	)
	expect((await run(['outbox', 'status'], onRedis)).code).toBe(2)
})
