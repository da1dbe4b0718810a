import * as nice from 'nice-grpc'
import { afterAll, expect, test, vi } from 'vitest'

const toBytes = (message: object) => Buffer.from(JSON.stringify(message))
const fromBytes = (bytes: Uint8Array): { readonly name: string } => JSON.parse(Buffer.from(bytes).toString())
const codec = {
	requestSerialize: toBytes,
	requestDeserialize: fromBytes,
	responseSerialize: toBytes,
	responseDeserialize: fromBytes,
	options: {},
}
/** In place of generated code. */
const Users = {
	get: { path: '/shop.Users/Get', requestStream: false, responseStream: false, ...codec },
	list: { path: '/shop.Users/List', requestStream: false, responseStream: true, ...codec },
} as const

let failures = 0
let calls = 0
const fail = () => {
	calls++
	if (failures-- > 0) throw new nice.ServerError(nice.Status.UNAVAILABLE, 'restarting')
}
const server = nice.createServer()
server.add(Users, {
	async get(request: { readonly name: string }) {
		fail()
		return request
	},
	async *list(request: { readonly name: string }) {
		fail()
		yield request
		yield request
	},
})
const port = await server.listen('127.0.0.1:0')
vi.stubEnv('USERS_ADDRESS', `127.0.0.1:${port}`)
const { channel, createClient, resilient } = await import('./.cache/nice-grpc/users.ts')
const users = createClient(Users)

afterAll(async () => {
	channel.close()
	await server.shutdown()
	vi.unstubAllEnvs()
})

test('a unary call succeeds after failures', async () => {
	failures = 2
	calls = 0
	expect(await users.get({ name: 'Ada' })).toEqual({ name: 'Ada' })
	expect(calls).toBe(3)
})

test('a stream succeeds after failures', async () => {
	failures = 1
	calls = 0
	const names: string[] = []
	for await (const { name } of users.list({ name: 'Ada' })) names.push(name)
	expect(names).toEqual(['Ada', 'Ada'])
	expect(calls).toBe(2)
})

test('after three attempts the caller receives a ClientError', async () => {
	failures = 3
	calls = 0
	const error: unknown = await users.get({ name: 'Ada' }).catch((thrown: unknown) => thrown)
	expect(error).toBeInstanceOf(nice.ClientError)
	expect(error).toMatchObject({ code: nice.Status.UNAVAILABLE, details: 'restarting' })
	expect(calls).toBe(3)
	expect(resilient.stats.circuits['']).toMatchObject({ state: 'closed' })
})

test('a caller that aborts receives an AbortError', async () => {
	const controller = new AbortController()
	controller.abort()
	const { signal } = controller
	await expect(users.get({ name: 'Ada' }, { signal })).rejects.toHaveProperty('name', 'AbortError')
})
