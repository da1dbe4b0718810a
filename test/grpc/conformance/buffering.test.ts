import { afterAll, beforeAll, expect, test } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import { useUsersClient } from '../support/users-client.ts'
import {
	fail,
	hang,
	reply,
	sendThenHang,
	startUsersServer,
	type UsersServer,
} from '../support/users-server.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails, hangs, replies, stalls } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { BUFFERED } from './rules/internals.ts'
import { optionsOf, SUBJECTS, type Subject, testBoth, useClient } from './subjects.ts'

let server: UsersServer
beforeAll(async () => {
	server = await startUsersServer()
})
afterAll(() => server.close())

const RETRIES = withMethod({ retryPolicy: { ...RETRY, initialBackoff: '0.001s', maxBackoff: '0.001s' } })
const HEDGES = withMethod({ hedgingPolicy: { maxAttempts: 3, hedgingDelay: '0.5s' } })

/** A message of somewhat more than this many bytes. */
const message = (bytes: number, text = '') => ({ text, data: new Uint8Array(bytes) })
const textsOf = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
	messages.map(({ text }) => text).join('')

testBoth('A6 buffering: each attempt sends all messages of a stream', async (subject) => {
	for (const method of ['Upload', 'Chat'] as const) {
		server.play([fail(14), fail(14), reply({})])
		const messages = [...'abcdefgh'].map((text) => message(100, text))
		await useClient(subject, server.address, RETRIES).invoke(method, messages).done
		expect(server.calls.map(textsOf)).toEqual(['abcdefgh', 'abcdefgh', 'abcdefgh'])
		expect(server.calls.map(({ isHalfClosed }) => isHalfClosed)).toEqual([true, true, true])
	}
})

testBoth(
	'A6 buffering: a message above the limit of a call is sent, and the call is not retried',
	async (subject) => {
		const client = useClient(subject, server.address, RETRIES, { maxBufferBytesPerCall: 1_000 })
		server.play(fail(14))
		expect((await client.invoke('Get', message(1_000)).done).error?.code).toBe(14)
		expect(server.calls).toMatchObject([{ messages: [{ data: { length: 1_000 } }] }])
		server.play([fail(14), reply({ text: 'a' })])
		expect((await client.get(message(900))).text).toBe('a')
	},
)

testBoth(
	'A6 buffering: a call that does not fit beside the others is sent, and is not retried',
	async (subject) => {
		const client = useClient(subject, server.address, RETRIES, { maxBufferBytes: 1_500 })
		server.play(hang())
		const first = client.invoke('Get', message(1_000))
		await server.called(1)
		server.play(fail(14))
		expect((await client.invoke('Get', message(1_000)).done).error?.code).toBe(14)
		expect(server.calls).toHaveLength(1)
		server.play([fail(14), reply({ text: 'a' })])
		expect((await client.get(message(400))).text).toBe('a')
		first.cancel()
		await first.done
	},
)

testBoth(
	'A6 buffering: a stream that grows above the limit stays with the attempt in flight',
	async (subject) => {
		server.play([fail(14), reply({ text: 'a' })])
		const client = useClient(subject, server.address, RETRIES, { maxBufferBytesPerCall: 1_000 })
		const { requests, done } = client.invoke('Upload', message(600, 'a'), { leaveOpen: true })
		const seen = await server.called(1)
		await server.until('the first message', () => seen.messages.length === 1)
		requests?.write(message(600, 'b'))
		requests?.end()
		expect((await done).error?.code).toBe(14)
		expect(server.calls.map(textsOf)).toEqual(['ab'])
	},
)

testBoth('A6 buffering: messages above the limit are sent after those before them', async (subject) => {
	server.play(reply({}))
	const client = useClient(subject, server.address, RETRIES, { maxBufferBytesPerCall: 1_000 })
	const messages = [
		message(100, 'a'),
		message(2_000, 'b'),
		message(100, 'c'),
		message(3_000, 'd'),
		message(1, 'e'),
	]
	await client.upload(messages)
	expect(server.calls.map(textsOf)).toEqual(['abcde'])
})

/** Only the interceptor's buffer is between the application and the request: the channel's takes no message. */
const UNBUFFERED_CHANNEL = { 'grpc.per_rpc_retry_buffer_size': 1 }

testBoth(
	'A6 buffering: hedging: a message above the limit commits the call to the request with the most messages',
	async (subject) => {
		const virtual = useVirtualServer([stalls(), hangs()])
		const limits = { maxBufferBytesPerCall: 500 }
		const client = useUsersClient(virtual.address, {
			...(subject === 'Yaoki' && UNBUFFERED_CHANNEL),
			...optionsOf(subject, virtual.route(HEDGES), limits),
		})
		const messages = [...'abc'].map((text) => message(100, text))
		const { requests, cancel, done } = client.invoke('Upload', messages, { leaveOpen: true })
		await virtual.advance(600)
		expect(virtual.requests.map(textsOf)).toEqual(['a', 'abc'])
		requests?.write(message(300, 'd'))
		await virtual.advance(0)
		expect(virtual.requests.map(textsOf)).toEqual(['a', 'abcd'])
		expect(virtual.requests.map(({ cancelledAt }) => cancelledAt)).toEqual([600, undefined])
		cancel()
		await virtual.advance(0)
		await done
	},
)

testBoth(
	'A6 buffering: hedging: the other requests are cancelled, and no further ones are sent',
	async (subject) => {
		const virtual = useVirtualServer(hangs())
		const options = optionsOf(subject, virtual.route(HEDGES), { maxBufferBytesPerCall: 500 })
		const client = useUsersClient(virtual.address, options)
		const { requests, cancel, done } = client.invoke('Upload', message(100, 'a'), { leaveOpen: true })
		await virtual.advance(600)
		requests?.write(message(500, 'b'))
		await virtual.advance(100_000)
		expect(virtual.times).toEqual([0, 500])
		expect(virtual.requests.map(({ cancelledAt }) => cancelledAt)).toEqual([undefined, 600])
		expect(virtual.requests.map(textsOf)).toEqual(['ab', 'a'])
		cancel()
		await virtual.advance(0)
		await done
	},
)

/** Writes a message above the limit at 600 ms, in an upload whose first request fails at 100 ms. */
async function overflowAfterFailure(subject: Subject, policies: object, pushback?: string) {
	const virtual = useVirtualServer([
		fails(14, { afterMs: 100, ...(pushback && { pushback }) }),
		replies({ afterMs: 100 }),
	])
	const options = optionsOf(subject, virtual.route(withMethod(policies)), { maxBufferBytesPerCall: 500 })
	const client = useUsersClient(virtual.address, options)
	const { requests, done } = client.invoke('Upload', message(100, 'a'), { leaveOpen: true })
	const ended = done.then(({ status }) => ({ code: status.code, at: virtual.now }))
	await virtual.advance(600)
	requests?.write(message(500, 'b'))
	requests?.end()
	await virtual.advance(100_000)
	return { ...(await ended), texts: virtual.requests.map(textsOf) }
}

const SLOW_RETRY = { retryPolicy: { ...RETRY, initialBackoff: '10s', maxBackoff: '10s' } }

test('A6 buffering: a message above the limit during a backoff commits the call to the next attempt', async () => {
	expect(await overflowAfterFailure('Yaoki', SLOW_RETRY)).toMatchObject({ code: 0, texts: ['a', 'ab'] })
})

test('grpc-js ends the call if a message above the limit is written during a backoff', async () => {
	expect(await overflowAfterFailure('grpc-js', SLOW_RETRY)).toMatchObject({ code: 14, texts: ['a'] })
})

test.each(SUBJECTS)('%s ends that call only when its next request would be due', async (subject) => {
	const hedgingPolicy = { maxAttempts: 3, hedgingDelay: '60s', nonFatalStatusCodes: [14] }
	const outcome = await overflowAfterFailure(subject, { hedgingPolicy }, '20000')
	expect(outcome).toEqual({ code: 14, at: 20_100, texts: ['a'] })
})

testBoth('A6 buffering: the space is free again when the call has ended', async (subject) => {
	const client = useClient(subject, server.address, RETRIES, { maxBufferBytes: 1_500 })
	for (const step of [reply({ text: 'a' }), fail(3)]) {
		server.play([fail(14), step])
		await client.invoke('Get', message(1_000)).done
		expect(server.calls).toHaveLength(2)
	}
})

testBoth('A6 buffering: the space is free again when the response has begun', async (subject) => {
	const client = useClient(subject, server.address, RETRIES, { maxBufferBytes: 1_500 })
	server.play(sendThenHang([{ text: 'a' }]))
	const first = client.invoke('List', message(1_000))
	await first.received(1)
	server.play([fail(14), reply({ text: 'b' })])
	expect((await client.get(message(1_000))).text).toBe('b')
	first.cancel()
	await first.done
})

expectTestsOf(BUFFERED)
