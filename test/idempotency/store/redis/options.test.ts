import { expect, test, vi } from 'vitest'
import type { RedisClient } from '../../../../src/idempotency/store/redis/clients.ts'
import { redisIdempotencyStore } from '../../../../src/idempotency/store/redis/redis-store.ts'

const without = (client: unknown) => () => redisIdempotencyStore({ client: client as RedisClient })

test.each([
	['nothing', undefined],
	['a URL', 'redis://127.0.0.1'],
	['an object without methods', {}],
	['a client of node-redis 4', { evalSha() {}, eval() {}, sendCommand() {} }],
])('rejects %s as a client', (_, client) => {
	expect(without(client)).toThrow(/"client".*ioredis, or of node-redis 5 or later/)
})

test('rejects unknown options with the nearest name', () => {
	const options = { client: { callBuffer: async () => 1 }, prefx: 'a' }
	expect(() => redisIdempotencyStore(options)).toThrow('Did you mean "prefix"?')
})

test('rejects a prefix that is not text', () => {
	const options = { client: { callBuffer: async () => 1 }, prefix: 1 as never }
	expect(() => redisIdempotencyStore(options)).toThrow('"prefix"')
})

test('sends durations that are fractions or too long as whole numbers', async () => {
	const sent: unknown[][] = []
	const client = {
		async callBuffer(...args: unknown[]) {
			sent.push(args)
			return 1
		},
	}
	const store = redisIdempotencyStore({ client, prefix: 'p:' })
	const claim = { id: 'id', token: 'token' }
	await store.heartbeat(claim, 0.5)
	await store.heartbeat(claim, Number.MAX_VALUE)
	const sha = expect.stringMatching(/^[0-9a-f]{40}$/)
	expect(sent).toEqual([
		['EVALSHA', sha, 1, 'p:id', 'token', '1'],
		['EVALSHA', sha, 1, 'p:id', 'token', '100000000000000'],
	])
})

test('a runtime without node:buffer is named in the error', () => {
	const client = { withTypeMapping: () => client, evalSha: async () => [], eval: async () => [] }
	vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
	vi.stubGlobal('Buffer', undefined)
	let thrown: unknown
	try {
		redisIdempotencyStore({ client: client as never })
	} catch (error) {
		thrown = error
	}
	vi.unstubAllGlobals()
	expect(thrown).toMatchObject({
		code: 'YAOKI_IDEMPOTENCY_NO_BUFFER',
		message: expect.stringMatching(/^redisIdempotencyStore needs node:buffer/),
	})
})
