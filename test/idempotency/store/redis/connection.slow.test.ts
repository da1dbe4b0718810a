/** What the connection to Redis can do to a store: lose replies, lose scripts, be late; and what a store sends. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createCluster } from '@redis/client'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { idempotency } from '../../../../src/idempotency/engine/engine.ts'
import { redisIdempotencyStore } from '../../../../src/idempotency/store/redis/redis-store.ts'
import type { IdempotencyClaimRequest, StoredResponse } from '../../../../src/idempotency/store/store.ts'
import { idempotencyStoreConformance } from '../../../../src/idempotency/testing/index.ts'
import { deadPort } from '../../../core/classify/fault-server.ts'
import { eventually } from '../../../support/eventually.ts'
import { HAS_REDIS, type RealRedis, startRedis } from '../../../support/real-redis.ts'
import { redisClient } from '../../../support/redis-client.ts'

const RESPONSE: StoredResponse = { status: 201, headers: [['etag', '"1"']], body: new Uint8Array([255, 0]) }

const request = (overrides: Partial<IdempotencyClaimRequest> = {}): IdempotencyClaimRequest => ({
	id: 'key',
	fingerprint: 'request',
	token: 'token',
	leaseMs: 3_600_000,
	retentionMs: 3_600_000,
	abandoned: 'rerun',
	...overrides,
})

describe.skipIf(!HAS_REDIS)('a store in Redis', () => {
	const redis = redisClient()

	test('needs one command for each operation, and every key expires', async () => {
		const callBuffer = vi.spyOn(redis.client, 'callBuffer')
		const store = redisIdempotencyStore({ client: redis.client, prefix: 'one:' })
		const expectOne = async (operation: Promise<unknown> | unknown, result: unknown) => {
			expect(await operation).toEqual(result)
			const names = callBuffer.mock.calls.map(([name]) => name)
			// EVAL once for each script that the server does not know yet.
			expect(names.filter((name) => name === 'EVALSHA')).toHaveLength(1)
			callBuffer.mockClear()
			for (const key of await redis.client.keys('one:*'))
				expect(await redis.client.pttl(key)).toBeGreaterThan(0)
		}
		await expectOne(store.claim(request()), { kind: 'claimed', steps: {} })
		await expectOne(store.heartbeat(request(), 3_600_000), true)
		await expectOne(store.saveStep(request(), 'charge', '1'), true)
		await expectOne(store.release(request()), true)
		await expectOne(store.claim(request()), { kind: 'claimed', steps: { charge: '1' } })
		await expectOne(store.complete(request(), RESPONSE, 3_600_000), true)
		await expectOne(store.claim(request()), { kind: 'completed', response: expect.anything() })
		await expectOne(store.find('key'), expect.objectContaining({ state: 'completed' }))
		await expectOne(store.claim(request({ id: 'b', leaseMs: 1 })), { kind: 'claimed', steps: {} })
		await eventually(() => expectOne(store.resolve('b', undefined, 1), true))
		callBuffer.mockRestore()
		expect(await redis.client.keys('one:*')).toEqual(['one:key'])
	})

	test('loads its scripts again when the server has forgotten them', async () => {
		const store = redisIdempotencyStore({ client: redis.client, prefix: 'scripts:' })
		await store.claim(request())
		await redis.client.script('FLUSH')
		expect(await store.claim(request({ token: 'other' }))).toMatchObject({ kind: 'running' })
		expect(await store.complete(request(), RESPONSE, 3_600_000)).toBe(true)
	})

	test('rejects with the error of the server', async () => {
		const store = redisIdempotencyStore({ client: redis.client, prefix: 'wrong:' })
		await redis.client.set('wrong:key', 'not a hash')
		await expect(store.claim(request())).rejects.toThrow('WRONGTYPE')
	})

	test('releases a claim that the server confirms after the timeout', async () => {
		const runtime = virtualRuntime()
		const gate = Promise.withResolvers<void>()
		const late = {
			callBuffer: async (...args: Parameters<Redis['callBuffer']>) => {
				await gate.promise
				return redis.client.callBuffer(...args)
			},
		}
		const store = redisIdempotencyStore({ client: late, prefix: 'late:' })
		const engine = idempotency({
			name: 'payments',
			store,
			runtime,
			principal: () => 'ada',
			storeTimeoutMs: 1_000,
		})
		const identity = { principal: 'ada', method: 'POST', route: '/', key: 'k' }
		const begun = engine.begin(identity, 'request')
		await Promise.all([expect(begun).rejects.toThrow('no result within 1000 ms'), runtime.advance(1_000)])
		const released = vi.spyOn(store, 'release')
		gate.resolve()
		await eventually(() => expect(released).toHaveBeenCalled())
		expect(await released.mock.results[0]?.value).toBe(true)
		expect(await redis.client.keys('late:*')).toEqual([])
	})

	test('gets its claim although the reply was lost and the client sent it again', async () => {
		const proxy = await startProxy(redis.redis.port)
		const proxied = new Redis(proxy.port, '127.0.0.1', { retryStrategy: () => 1 })
		const store = redisIdempotencyStore({ client: proxied, prefix: 'again:' })
		await store.claim(request({ id: 'first' }))
		proxy.loseNextReply()
		expect(await store.claim(request())).toEqual({ kind: 'claimed', steps: {} })
		expect(proxy.connections()).toBe(2)
		expect(await store.claim(request({ token: 'other' }))).toMatchObject({ kind: 'running' })
		proxied.disconnect()
		await proxy.close()
	})

	test('works after a restart of the server, which forgets everything without persistence', async () => {
		await using other = await startRedis()
		const reconnecting = new Redis(other.port, '127.0.0.1', { retryStrategy: () => 1 })
		reconnecting.on('error', () => {})
		const store = redisIdempotencyStore({ client: reconnecting })
		await store.claim(request())
		await other.restart()
		expect(await store.claim(request({ token: 'other' }))).toEqual({ kind: 'claimed', steps: {} })
		reconnecting.disconnect()
	})
})

const CLUSTER = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']

describe.skipIf(!HAS_REDIS)('a store in a cluster', () => {
	let redis: RealRedis
	beforeAll(async () => {
		redis = await startRedis(...CLUSTER, '--cluster-port', String(await deadPort()))
		const admin = new Redis(redis.port, '127.0.0.1')
		await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
		await eventually(async () => expect(await admin.cluster('INFO')).toContain('cluster_state:ok'))
		await admin.quit()
	})
	afterAll(() => redis?.[Symbol.asyncDispose]())

	test.each(['ioredis', 'node-redis'])('passes the conformance suite with %s', async (name) => {
		const node = { host: '127.0.0.1', port: redis.port }
		// Its default of a second is too short for a busy machine.
		const ioredis =
			name === 'ioredis' ? new Redis.Cluster([node], { slotsRefreshTimeout: 60_000 }) : undefined
		const nodeRedis = ioredis ? undefined : createCluster({ rootNodes: [{ url: redis.url }] })
		await nodeRedis?.connect()
		const client = ioredis ?? nodeRedis
		if (!client) throw new Error('no client')
		let prefixes = 0
		const cases = idempotencyStoreConformance(() => ({
			store: redisIdempotencyStore({ client, prefix: `${name} ${++prefixes}:` }),
			purgesItself: true,
			close() {},
		}))
		await Promise.all(cases.map(({ run }) => run()))
		ioredis?.disconnect()
		nodeRedis?.destroy()
	})
})

/** Forwards to a server. After `loseNextReply` it closes the connection instead of forwarding a reply. */
async function startProxy(port: number) {
	let isLossy = false
	let count = 0
	const sockets = new Set<Socket>()
	const server = createServer((socket) => {
		count++
		const upstream = connect(port, '127.0.0.1')
		socket.pipe(upstream)
		upstream.on('data', (data) => {
			if (!isLossy) return void socket.write(data)
			isLossy = false
			socket.destroy()
		})
		for (const each of [socket, upstream]) {
			sockets.add(each)
			each.on('error', () => {})
			each.on('close', () => {
				sockets.delete(each)
				socket.destroy()
				upstream.destroy()
			})
		}
	})
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	return {
		port: (server.address() as AddressInfo).port,
		loseNextReply: () => {
			isLossy = true
		},
		connections: () => count,
		async close() {
			for (const socket of sockets) socket.destroy()
			server.close()
			await once(server, 'close')
		},
	}
}
