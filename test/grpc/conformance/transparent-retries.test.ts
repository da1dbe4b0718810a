import { expect, test } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import {
	closeSocket,
	goAway,
	halfClose,
	headers,
	message,
	refuse,
	startFaultyServer,
	stream,
	trailers,
	trailersOnly,
} from '../support/faulty-server.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails, NOT_SENT, refuses, replies } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { TRANSPARENT } from './rules/internals.ts'
import { type Subject, testBoth, useClient, useVirtualClient } from './subjects.ts'

const NO_POLICY = withMethod({ waitForReady: false })
const FAST = { ...RETRY, maxAttempts: 3, initialBackoff: '0.001s', maxBackoff: '0.001s' }
const ok = stream(halfClose(), headers(), message({ text: 'a' }), trailers(0))
const LONG_MS = 100_000

testBoth('A6 transparent retries: a refused stream is retried without a policy', async (subject) => {
	await using server = await startFaultyServer([stream(refuse()), ok])
	expect((await useClient(subject, server.address, NO_POLICY).get({})).text).toBe('a')
	expect(server.requests).toHaveLength(2)
})

testBoth(
	'A6 transparent retries: a stream that GOAWAY does not cover is retried without a policy',
	async (subject) => {
		await using server = await startFaultyServer([stream(goAway('previous'), closeSocket('fin')), ok])
		expect((await useClient(subject, server.address, NO_POLICY).get({})).text).toBe('a')
		expect(server.connections.opened).toBe(2)
	},
)

testBoth(
	'A6 transparent retries: a request that has not left the client is retried until it is sent',
	async (subject) => {
		const { unstarted } = NOT_SENT
		const server = useVirtualServer([unstarted, unstarted, unstarted, replies()])
		const { done } = useVirtualClient(subject, server, NO_POLICY).invoke('Get', {})
		await server.advance(0)
		expect((await done).status.code).toBe(0)
		expect(server.picks).toBe(4)
	},
)

testBoth('A6 transparent retries: without a policy a stream is retried once', async (subject) => {
	await using server = await startFaultyServer([stream(refuse()), stream(refuse()), ok])
	expect((await useClient(subject, server.address, NO_POLICY).invoke('Get', {}).done).error?.code).toBe(14)
	expect(server.requests).toHaveLength(2)
})

/** Returns the number of streams of a call that the server always refuses. */
async function countRefused(subject: Subject): Promise<number> {
	await using server = await startFaultyServer(stream(refuse()))
	const client = useClient(subject, server.address, withMethod({ retryPolicy: FAST }))
	expect((await client.invoke('Get', {}).done).error?.code).toBe(14)
	return server.requests.length
}

test('A6 transparent retries: with a policy a stream is retried once, and then the policy applies', async () => {
	expect(await countRefused('grpc-js')).toBe(4)
})

test('Yaoki retries a refused stream once for each attempt of the policy', async () => {
	expect(await countRefused('Yaoki')).toBe(6)
})

testBoth('A6 transparent retries: they do not count toward maxAttempts', async (subject) => {
	await using server = await startFaultyServer([
		stream(refuse()),
		stream(trailersOnly(14)),
		stream(trailersOnly(14)),
		ok,
	])
	const client = useClient(subject, server.address, withMethod({ retryPolicy: FAST }))
	expect((await client.get({})).text).toBe('a')
	expect(server.requests.map((request) => request.headers['grpc-previous-rpc-attempts'])).toEqual([
		undefined,
		undefined,
		'1',
		'2',
	])
})

testBoth('A6 transparent retries: they take no tokens', async (subject) => {
	const server = useVirtualServer()
	const retryThrottling = { maxTokens: 4, tokenRatio: 0.001 }
	const config = { ...withMethod({ retryPolicy: FAST }), retryThrottling }
	const client = useVirtualClient(subject, server, config)
	for (const steps of [...Array(5).fill([refuses(), replies()]), [fails(14), replies()]]) {
		server.play(steps)
		const { done } = client.invoke('Get', {})
		await server.advance(LONG_MS)
		expect((await done).status.code).toBe(0)
		expect(server.requests).toHaveLength(2)
	}
})

/** Makes a call with a retry policy whose first request fails at the load balancing step. */
async function callAfter(subject: Subject, step: (typeof NOT_SENT)['dropped']) {
	const server = useVirtualServer([step, replies()])
	const { done } = useVirtualClient(subject, server, withMethod({ retryPolicy: RETRY })).invoke('Get', {})
	await server.advance(LONG_MS)
	return { code: (await done).status.code, requests: server.requests.length }
}

testBoth(
	'A6 transparent retries: a request without a connection is retried by the policy',
	async (subject) => {
		const server = useVirtualServer([NOT_SENT.unconnected, NOT_SENT.unconnected, replies()])
		const { done } = useVirtualClient(subject, server, withMethod({ retryPolicy: RETRY })).invoke('Get', {})
		await server.advance(LONG_MS)
		expect((await done).status.code).toBe(0)
		expect(server.requests[0]?.previousAttempts).toBe('2')
	},
)

test('A6 transparent retries: a request that load balancing drops is not retried', async () => {
	expect(await callAfter('grpc-js', NOT_SENT.dropped)).toEqual({ code: 14, requests: 0 })
})

test('Yaoki retries a dropped request: interceptors cannot distinguish it from a failed one', async () => {
	expect(await callAfter('Yaoki', NOT_SENT.dropped)).toEqual({ code: 0, requests: 1 })
})

expectTestsOf(TRANSPARENT)
