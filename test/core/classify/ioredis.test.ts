import { Redis, type RedisOptions } from 'ioredis'
import { expect, test } from 'vitest'
import { type Classification, classify } from 'yaoki'
import { CANCELLED, catchFailure, PERMANENT, TRANSIENT } from './expected.ts'
import {
	closeImmediately,
	closeOnRequest,
	deadPort,
	type Fault,
	faultServer,
	neverResponds,
	resetOnRequest,
} from './fault-server.ts'

/** A Redis server with the same reply for every command. Clients send several commands together, so they are counted. */
const replies =
	(reply: string): Fault =>
	(socket) => {
		socket.on('data', (chunk) => {
			for (const _ of String(chunk).matchAll(/^\*\d+\r$/gm)) socket.write(`${reply}\r\n`)
		})
	}

type Settings = Omit<RedisOptions, 'replyMapping'>

/** Returns the error of `call` on a new client, which does not reconnect by default and is closed afterwards. */
async function failureWith(settings: Settings, call = (redis: Redis): unknown => redis.get('key')) {
	const redis = new Redis({
		host: '127.0.0.1',
		lazyConnect: true,
		enableReadyCheck: false,
		retryStrategy: () => null,
		...settings,
	})
	// Without a listener, connection errors are printed.
	redis.on('error', () => {})
	try {
		return await catchFailure(() => call(redis))
	} finally {
		redis.disconnect()
	}
}

const meaning = (kind: Classification, ...replies: readonly string[]) =>
	replies.map((reply) => [reply, kind.kind, kind] as const)

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

test('ECONNREFUSED is transient, immediately and after the last reconnect', async () => {
	const port = await deadPort()
	expect(classify(await failureWith({ port }))).toEqual(TRANSIENT)
	expect(classify(await failureWith({ port }, (redis) => redis.connect()))).toEqual(TRANSIENT)
	const error = await failureWith({ port, maxRetriesPerRequest: 1, retryStrategy: () => 1 })
	expect(error).toHaveProperty('name', 'MaxRetriesPerRequestError')
	expect(classify(error)).toEqual(TRANSIENT)
})

test.each<[string, Fault]>([
	['closed immediately', closeImmediately],
	['closed instead of a reply', closeOnRequest],
	['reset', resetOnRequest],
])('a connection that is %s is transient', async (_, fault) => {
	await using server = await faultServer(fault)
	expect(classify(await failureWith({ port: server.port }))).toEqual(TRANSIENT)
	const reconnecting = { port: server.port, maxRetriesPerRequest: 1, retryStrategy: () => 1 }
	expect(classify(await failureWith(reconnecting))).toEqual(TRANSIENT)
})

test('an unknown host is transient', async () => {
	const error = await failureWith({ host: 'nowhere.invalid' }, (redis) => redis.connect())
	expect(classify(error)).toEqual(TRANSIENT)
})

test('the error event of a connection is transient too', async () => {
	const port = await deadPort()
	const waitForErrorEvent = (redis: Redis) =>
		new Promise((_, reject) => {
			redis.on('error', reject)
			redis.connect().catch(() => {})
		})
	expect(classify(await failureWith({ port }, waitForErrorEvent))).toEqual(TRANSIENT)
	await using server = await faultServer(neverResponds)
	const impatient = { port: server.port, tls: {}, connectTimeout: 20 }
	expect(classify(await failureWith(impatient, waitForErrorEvent))).toEqual(TRANSIENT)
})

test('a command that times out or has no connection is transient', async () => {
	await using server = await faultServer(neverResponds)
	expect(classify(await failureWith({ port: server.port, commandTimeout: 20 }))).toEqual(TRANSIENT)
	expect(classify(await failureWith({ port: server.port, enableOfflineQueue: false }))).toEqual(TRANSIENT)
})

test('a client that is closed during a command is transient, and cancelled after the caller aborted', async () => {
	await using server = await faultServer(neverResponds)
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
