import { expect, test } from 'vitest'
import { HEDGING, RETRY, withMethod } from '../service-config/configs.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails, hangs } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { ATTEMPTS } from './rules/retry.ts'
import { type Limits, type Subject, testBoth, useVirtualClient } from './subjects.ts'

const DAY_MS = 86_400_000

/** Returns the number of requests of a call that always fails. */
async function countRequests(subject: Subject, policies: object, limits?: Limits): Promise<number> {
	const server = useVirtualServer(fails(14))
	const { done } = useVirtualClient(subject, server, withMethod(policies), limits).invoke('Get', {})
	await server.advance(DAY_MS)
	expect(await done).toMatchObject({ error: { code: 14 } })
	return server.requests.length
}

testBoth('A6 attempts: maxAttempts includes the first attempt', async (subject) => {
	expect(await countRequests(subject, { retryPolicy: { ...RETRY, maxAttempts: 3 } })).toBe(3)
})

testBoth('A6 attempts: a maxAttempts above 5 means 5', async (subject) => {
	expect(await countRequests(subject, { retryPolicy: { ...RETRY, maxAttempts: 8 } })).toBe(5)
})

testBoth('A6 attempts: the client can raise the cap', async (subject) => {
	const retryPolicy = { ...RETRY, maxAttempts: 8 }
	expect(await countRequests(subject, { retryPolicy }, { maxAttemptsCap: 7 })).toBe(7)
})

testBoth('A6 attempts: the cap also limits hedged requests', async (subject) => {
	const hedgingPolicy = { ...HEDGING, maxAttempts: 8, nonFatalStatusCodes: [14] }
	expect(await countRequests(subject, { hedgingPolicy })).toBe(5)
})

testBoth('A6 attempts: all attempts have the same deadline', async (subject) => {
	const server = useVirtualServer(fails(14))
	const client = useVirtualClient(subject, server, withMethod({ retryPolicy: RETRY }))
	const { done } = client.invoke('Get', {}, { deadline: Date.now() + 10_000 })
	await server.advance(10_000)
	await done
	const ends = server.requests.map(({ at, timeoutMs }) => at + timeoutMs)
	expect(ends).toEqual([10_000, 10_000, 10_000, 10_000])
})

testBoth(
	'A6 attempts: the deadline ends an attempt in flight, and nothing is sent after it',
	async (subject) => {
		const server = useVirtualServer([fails(14), hangs()])
		const client = useVirtualClient(subject, server, withMethod({ retryPolicy: RETRY }))
		const { done } = client.invoke('Get', {}, { deadline: Date.now() + 1_000 })
		await server.advance(1_000)
		expect(await done).toMatchObject({ error: { code: 4 } })
		expect(server.requests[1]?.cancelledAt).toBe(1_000)
		await server.advance(DAY_MS)
		expect(server.requests).toHaveLength(2)
	},
)

const LONG_BACKOFF = { retryPolicy: { ...RETRY, initialBackoff: '60s', maxBackoff: '60s' } }

test('A6 attempts: a wait for a retry ends at the deadline', async () => {
	const server = useVirtualServer(fails(14))
	const client = useVirtualClient('grpc-js', server, withMethod(LONG_BACKOFF))
	const { done } = client.invoke('Get', {}, { deadline: Date.now() + 1_000 })
	await server.advance(1_000)
	expect(await done).toMatchObject({ error: { code: 4 } })
})

test('Yaoki does not begin a wait that the deadline would end: the call fails with the last status', async () => {
	const server = useVirtualServer(fails(14))
	const client = useVirtualClient('Yaoki', server, withMethod(LONG_BACKOFF))
	const { done } = client.invoke('Get', {}, { deadline: Date.now() + 1_000 })
	await server.advance(0)
	expect(await done).toMatchObject({ error: { code: 14 } })
})

testBoth('A6 attempts: the deadline ends all hedged requests in flight', async (subject) => {
	const server = useVirtualServer(hangs())
	const client = useVirtualClient(subject, server, withMethod({ hedgingPolicy: HEDGING }))
	const { done } = client.invoke('Get', {}, { deadline: Date.now() + 700 })
	await server.advance(DAY_MS)
	expect(await done).toMatchObject({ error: { code: 4 } })
	expect(server.times).toEqual([0, 500])
	expect(server.requests.map(({ cancelledAt }) => cancelledAt)).toEqual([700, 700])
})

expectTestsOf(ATTEMPTS)
