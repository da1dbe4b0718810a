import type { ClientOptions } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { RETRY } from '../service-config/configs.ts'
import { SERVICE } from '../support/users.ts'
import { type UsersClient, useUsersClient } from '../support/users-client.ts'
import type { VirtualStep } from '../support/virtual-request.ts'
import { useVirtualServer, type VirtualServer } from '../support/virtual-server.ts'
import { fails, replies } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { THROTTLED } from './rules/hedging.ts'
import { optionsOf, type Subject, testBoth } from './subjects.ts'

const UNAVAILABLE = 14
const INVALID_ARGUMENT = 3
const LONG_MS = 1_000_000

/** `Get` is retried, `List` is hedged, and `Upload` has no policy. */
const configOf = (retryThrottling: object, maxAttempts = 2): object => ({
	methodConfig: [
		{ name: [{ service: SERVICE, method: 'Get' }], retryPolicy: { ...RETRY, maxAttempts } },
		{
			name: [{ service: SERVICE, method: 'List' }],
			hedgingPolicy: { maxAttempts: 2, hedgingDelay: '0.5s', nonFatalStatusCodes: [UNAVAILABLE] },
		},
	],
	retryThrottling,
})

type Method = 'Get' | 'List' | 'Upload'

/** A client with throttling. */
class Channel {
	readonly server: VirtualServer
	readonly client: UsersClient

	constructor(server: VirtualServer, options: Partial<ClientOptions>) {
		this.server = server
		this.client = useUsersClient(server.address, options)
	}

	/** Makes a call, and returns the number of requests. */
	async call(steps: VirtualStep | readonly VirtualStep[], method: Method = 'Get'): Promise<number> {
		this.server.play(steps)
		const { done } = this.client.invoke(method, {})
		await this.server.advance(LONG_MS)
		await done
		return this.server.requests.length
	}

	/** Makes several calls, and returns the number of requests of each. */
	async calls(
		count: number,
		steps: VirtualStep | readonly VirtualStep[],
		method?: Method,
	): Promise<number[]> {
		const counts: number[] = []
		for (let n = 0; n < count; n++) counts.push(await this.call(steps, method))
		return counts
	}
}

function useChannel(subject: Subject, throttling: object, maxAttempts?: number): Channel {
	const server = useVirtualServer()
	return new Channel(server, optionsOf(subject, server.route(configOf(throttling, maxAttempts))))
}

const FAILURE = fails(UNAVAILABLE)

testBoth('A6 throttling: the tokens begin at maxTokens', async (subject) => {
	const channel = useChannel(subject, { maxTokens: 10, tokenRatio: 0.1 }, 5)
	expect(await channel.calls(2, FAILURE)).toEqual([5, 1])
})

testBoth('A6 throttling: a retry needs more than maxTokens / 2 tokens', async (subject) => {
	expect(await useChannel(subject, { maxTokens: 2, tokenRatio: 0.1 }).call(FAILURE)).toBe(1)
	expect(await useChannel(subject, { maxTokens: 3, tokenRatio: 0.1 }).call(FAILURE)).toBe(2)
})

testBoth(
	'A6 throttling: each attempt that fails with a retryable status takes one token',
	async (subject) => {
		const channel = useChannel(subject, { maxTokens: 20, tokenRatio: 0.1 }, 5)
		expect(await channel.calls(3, FAILURE)).toEqual([5, 5, 1])
	},
)

testBoth('A6 throttling: the tokens do not fall below 0', async (subject) => {
	const channel = useChannel(subject, { maxTokens: 4, tokenRatio: 1 })
	await channel.calls(10, FAILURE)
	await channel.calls(4, replies())
	expect(await channel.call(FAILURE)).toBe(2)
})

testBoth('A6 throttling: each success adds tokenRatio', async (subject) => {
	for (const [successes, requests] of [
		[6, 1],
		[7, 2],
	] as const) {
		const channel = useChannel(subject, { maxTokens: 4, tokenRatio: 0.5 })
		await channel.calls(5, FAILURE)
		await channel.calls(successes, replies())
		expect(await channel.call(FAILURE)).toBe(requests)
	}
})

testBoth('A6 throttling: the tokens do not rise above maxTokens', async (subject) => {
	const channel = useChannel(subject, { maxTokens: 4, tokenRatio: 1 })
	await channel.calls(5, replies())
	expect(await channel.calls(2, FAILURE)).toEqual([2, 1])
})

testBoth('A6 throttling: other statuses, such as INVALID_ARGUMENT, take no tokens', async (subject) => {
	const channel = useChannel(subject, { maxTokens: 3, tokenRatio: 0.1 })
	await channel.calls(5, fails(INVALID_ARGUMENT))
	await channel.calls(5, FAILURE, 'Upload')
	expect(await channel.call(FAILURE)).toBe(2)
})

const VETO = fails(INVALID_ARGUMENT, { pushback: '-1' })

test('A6 throttling: a pushback that forbids retries takes a token, whatever the status', async () => {
	for (const method of ['Get', 'List', 'Upload'] as const) {
		const channel = useChannel('Yaoki', { maxTokens: 4, tokenRatio: 0.1 })
		await channel.calls(2, VETO, method)
		expect(await channel.call(FAILURE)).toBe(1)
	}
})

test('grpc-js takes no token for a pushback that forbids retries, unless the status is retryable', async () => {
	const channel = useChannel('grpc-js', { maxTokens: 4, tokenRatio: 0.1 })
	await channel.calls(2, VETO)
	expect(await channel.call(FAILURE)).toBe(2)
	await channel.calls(2, fails(UNAVAILABLE, { pushback: '-1' }))
	expect(await channel.call(FAILURE)).toBe(1)
})

const LATE_FAILURE = fails(UNAVAILABLE, { hasHeaders: true })

test('A6 throttling: a retryable status after the response has begun takes a token', async () => {
	const channel = useChannel('Yaoki', { maxTokens: 4, tokenRatio: 0.1 })
	await channel.calls(2, LATE_FAILURE)
	expect(await channel.call(FAILURE)).toBe(1)
})

test('grpc-js takes no token for a failure after the response has begun', async () => {
	const channel = useChannel('grpc-js', { maxTokens: 4, tokenRatio: 0.1 })
	await channel.calls(2, LATE_FAILURE)
	expect(await channel.call(FAILURE)).toBe(2)
})

/** Returns when a call ends whose retry is throttled. */
async function endOfThrottled(subject: Subject): Promise<number> {
	const { server, client } = useChannel(subject, { maxTokens: 2, tokenRatio: 0.1 })
	server.play(FAILURE)
	const ended = client.invoke('Get', {}).done.then(() => server.now)
	await server.advance(LONG_MS)
	return ended
}

test('A6 throttling: a throttled retry is not waited for: the call fails immediately', async () => {
	expect(await endOfThrottled('Yaoki')).toBe(0)
})

test('grpc-js waits for the backoff before it finds that the retry is throttled', async () => {
	expect(await endOfThrottled('grpc-js')).toBeGreaterThanOrEqual(80)
})

testBoth(
	'A6 throttling: all methods of a channel share the tokens, those without a policy included',
	async (subject) => {
		const channel = useChannel(subject, { maxTokens: 4, tokenRatio: 1 })
		await channel.calls(2, FAILURE, 'List')
		expect(await channel.call(FAILURE)).toBe(1)
		await channel.calls(5, replies(), 'Upload')
		expect(await channel.call(FAILURE)).toBe(2)
	},
)

const FOUR_TOKENS = { maxTokens: 4, tokenRatio: 0.1 }

test('A6 throttling: all channels to a server share the tokens', async () => {
	const server = useVirtualServer()
	const options = optionsOf('grpc-js', server.route(configOf(FOUR_TOKENS)))
	expect(await new Channel(server, options).call(FAILURE)).toBe(2)
	expect(await new Channel(server, options).call(FAILURE)).toBe(1)
})

test('Yaoki shares the tokens between the clients that share the interceptor', async () => {
	const server = useVirtualServer()
	const config = server.route(configOf(FOUR_TOKENS))
	const options = optionsOf('Yaoki', config)
	expect(await new Channel(server, options).call(FAILURE)).toBe(2)
	expect(await new Channel(server, options).call(FAILURE)).toBe(1)
	expect(await new Channel(server, optionsOf('Yaoki', config)).call(FAILURE)).toBe(2)
})

testBoth('A6 throttling: hedging: a non-fatal status takes one token', async (subject) => {
	const channel = useChannel(subject, { maxTokens: 6, tokenRatio: 0.1 })
	expect(await channel.call(FAILURE, 'List')).toBe(2)
	expect(await channel.call(FAILURE)).toBe(1)
})

testBoth('A6 throttling: hedging: the first request is always sent', async (subject) => {
	const channel = useChannel(subject, FOUR_TOKENS)
	await channel.calls(5, FAILURE)
	expect(await channel.call(replies(), 'List')).toBe(1)
})

test('A6 throttling: hedging: further requests need more than maxTokens / 2 tokens', async () => {
	const channel = useChannel('Yaoki', FOUR_TOKENS)
	expect(await channel.call(replies({ afterMs: 10_000 }), 'List')).toBe(2)
	await channel.call(FAILURE)
	expect(await channel.call(replies({ afterMs: 10_000 }), 'List')).toBe(1)
})

test('grpc-js does not throttle hedged requests', async () => {
	const channel = useChannel('grpc-js', FOUR_TOKENS)
	await channel.calls(5, FAILURE)
	expect(await channel.call(replies({ afterMs: 10_000 }), 'List')).toBe(2)
})

const TWO_TOKENS = { maxTokens: 2, tokenRatio: 0.1 }

test('A6 throttling: hedging: the call fails immediately if no request is in flight and the next one is throttled', async () => {
	const { server, client } = useChannel('Yaoki', TWO_TOKENS)
	server.play(fails(UNAVAILABLE, { afterMs: 100 }))
	const ended = client.invoke('List', {}).done.then(({ status }) => [status.code, server.now])
	await server.advance(LONG_MS)
	expect(await ended).toEqual([UNAVAILABLE, 100])
	expect(server.times).toEqual([0])
})

test('grpc-js sends the next hedged request also after a failure that leaves too few tokens', async () => {
	expect(await useChannel('grpc-js', TWO_TOKENS).call(FAILURE, 'List')).toBe(2)
})

expectTestsOf(THROTTLED)
