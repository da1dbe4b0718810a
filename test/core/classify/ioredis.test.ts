import { Redis, type RedisOptions } from 'ioredis'
import { expect, test } from 'vitest'
import { type Classification, classify } from 'yaoki'
import {
	closeAtOnce,
	closeOnRequest,
	deadPort,
	type Fault,
	faultServer,
	neverAnswers,
	resetOnRequest,
} from './fault-server.ts'
import { CANCELLED, failureOf, PERMANENT, TRANSIENT } from './verdicts.ts'

/** A Redis that gives every command the same reply. Clients send several at once, so they are counted. */
const replies =
	(reply: string): Fault =>
	(socket) => {
		socket.on('data', (chunk) => {
			for (const _ of String(chunk).matchAll(/^\*\d+\r$/gm)) socket.write(`${reply}\r\n`)
		})
	}

type Settings = Omit<RedisOptions, 'replyMapping'>

/** What `call` threw on a client that is gone afterwards. It does not reconnect unless a test says so. */
async function failureWith(settings: Settings, call = (redis: Redis): unknown => redis.get('key')) {
	const redis = new Redis({
		host: '127.0.0.1',
		lazyConnect: true,
		enableReadyCheck: false,
		retryStrategy: () => null,
		...settings,
	})
	// What is wrong with a connection is told here as well, and would be printed.
	redis.on('error', () => {})
	try {
		return await failureOf(() => call(redis))
	} finally {
		redis.disconnect()
	}
}

const meaning = (kind: Classification, ...said: readonly string[]) =>
	said.map((reply) => [reply, kind.kind, kind] as const)

test.each([
	...meaning(
		TRANSIENT,
		'LOADING Redis is loading the dataset in memory',
		"READONLY You can't write against a read only replica.",
		'CLUSTERDOWN The cluster is down',
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		'TRYAGAIN Multiple keys request during rehashing of slot',
		'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
		"OOM command not allowed when used memory > 'maxmemory'.",
		'NOREPLICAS Not enough good replicas to write.',
		'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
		'ERR max number of clients reached',
	),
	...meaning(
		PERMANENT,
		'WRONGTYPE Operation against a key holding the wrong kind of value',
		"ERR unknown command 'GETT', with args beginning with: ",
		'ERR value is not an integer or out of range',
		'NOAUTH Authentication required.',
		'WRONGPASS invalid username-password pair or user is disabled.',
		"NOPERM User default has no permissions to run the 'get' command",
	),
])('the reply "%s" is %s', async (reply, _, kind) => {
	await using server = await faultServer(replies(`-${reply}`))
	const error = await failureWith({ port: server.port })
	expect(error).toHaveProperty('message', reply)
	expect(classify(error)).toEqual(kind)
})

test('a refused connection is transient, at once and after the last reconnection', async () => {
	const port = await deadPort()
	expect(classify(await failureWith({ port }))).toEqual(TRANSIENT)
	expect(classify(await failureWith({ port }, (redis) => redis.connect()))).toEqual(TRANSIENT)
	const error = await failureWith({ port, maxRetriesPerRequest: 1, retryStrategy: () => 1 })
	expect(error).toHaveProperty('name', 'MaxRetriesPerRequestError')
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closed at once', closeAtOnce],
	['closed instead of a reply', closeOnRequest],
	['reset', resetOnRequest],
])('a connection that is %s is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	expect(classify(await failureWith({ port: server.port }))).toEqual(TRANSIENT)
	const reconnecting = { port: server.port, maxRetriesPerRequest: 1, retryStrategy: () => 1 }
	expect(classify(await failureWith(reconnecting))).toEqual(TRANSIENT)
})

test('a host that DNS does not know is transient', async () => {
	const error = await failureWith({ host: 'nowhere.invalid' }, (redis) => redis.connect())
	expect(classify(error)).toEqual(TRANSIENT)
})

test('what is told of a connection’s failure is transient as well', async () => {
	const port = await deadPort()
	const told = (redis: Redis) =>
		new Promise((_, reject) => {
			redis.on('error', reject)
			redis.connect().catch(() => {})
		})
	expect(classify(await failureWith({ port }, told))).toEqual(TRANSIENT)
	await using server = await faultServer(neverAnswers)
	const hasty = { port: server.port, tls: {}, connectTimeout: 20 }
	expect(classify(await failureWith(hasty, told))).toEqual(TRANSIENT)
})

test('a command that takes too long, or finds no connection to wait for, is transient', async () => {
	await using server = await faultServer(neverAnswers)
	expect(classify(await failureWith({ port: server.port, commandTimeout: 20 }))).toEqual(TRANSIENT)
	expect(classify(await failureWith({ port: server.port, enableOfflineQueue: false }))).toEqual(TRANSIENT)
})

test('a client that was closed under a command is transient, and cancelled when the caller gave up', async () => {
	await using server = await faultServer(neverAnswers)
	const controller = new AbortController()
	const error = await failureWith({ port: server.port }, (redis) => {
		const reply = redis.get('key')
		redis.once('connect', () => {
			redis.disconnect()
			controller.abort()
		})
		return reply
	})
	expect(classify(error)).toEqual(TRANSIENT)
	expect(classify(error, { signal: controller.signal })).toEqual(CANCELLED)
})
