import { expect } from 'vitest'
import { withMethod } from '../service-config/configs.ts'
import type { UsersClient } from '../support/users-client.ts'
import { useVirtualServer, type VirtualServer } from '../support/virtual-server.ts'
import { fails, hangs, replies } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { HEDGED } from './rules/hedging.ts'
import { type Subject, testBoth, timesLike, useVirtualClient } from './subjects.ts'

const POLICY = { maxAttempts: 4, hedgingDelay: '0.5s', nonFatalStatusCodes: ['UNAVAILABLE', 'ABORTED'] }
const ABORTED = 10
const UNAVAILABLE = 14
const INVALID_ARGUMENT = 3
const LONG_MS = 100_000

const useClient = (subject: Subject, server: VirtualServer, changes: object = {}): UsersClient =>
	useVirtualClient(subject, server, withMethod({ hedgingPolicy: { ...POLICY, ...changes } }))

const cancelTimes = ({ requests }: VirtualServer) => requests.map(({ cancelledAt }) => cancelledAt)

testBoth(
	'A6 hedging: the first request is sent immediately, and another one after each hedgingDelay',
	async (subject) => {
		const server = useVirtualServer(hangs())
		const { cancel, done } = useClient(subject, server).invoke('Get', {})
		const counts: number[] = []
		for (const ms of [1, 499, 499, 1, 499, 1, 500]) {
			await server.advance(ms)
			counts.push(server.requests.length)
		}
		expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4])
		expect(server.times).toEqual([0, 500, 1_000, 1_500])
		cancel()
		await server.advance(0)
		await done
	},
)

testBoth('A6 hedging: at most maxAttempts requests are sent', async (subject) => {
	const server = useVirtualServer(hangs())
	const { cancel, done } = useClient(subject, server, { maxAttempts: 3 }).invoke('Get', {})
	await server.advance(LONG_MS)
	expect(server.times).toEqual([0, 500, 1_000])
	cancel()
	await server.advance(0)
	await done
})

for (const [rule, hedgingDelay] of [
	['A6 hedging: a hedgingDelay of 0 sends all requests immediately', '0s'],
	['A6 hedging: without hedgingDelay all requests are sent immediately', undefined],
] as const)
	testBoth(rule, async (subject) => {
		const server = useVirtualServer(hangs())
		const { cancel, done } = useClient(subject, server, { hedgingDelay }).invoke('Get', {})
		await server.advance(10)
		// One after the other, with timers of 1 ms.
		expect(server.times).toEqual([0, 0, 0, 0].map((time) => expect.closeTo(time, -1)))
		cancel()
		await server.advance(0)
		await done
	})

testBoth('A6 hedging: a success cancels the other requests and is returned', async (subject) => {
	const server = useVirtualServer([hangs(), replies({ afterMs: 700 }), hangs()])
	const { done } = useClient(subject, server).invoke('Get', {})
	await server.advance(LONG_MS)
	expect(await done).toMatchObject({ items: [{ text: 'reply' }], status: { code: 0 } })
	expect(server.times).toEqual([0, 500, 1_000])
	expect(cancelTimes(server)).toEqual([1_200, undefined, 1_200])
})

testBoth('A6 hedging: a non-fatal status sends the next request immediately', async (subject) => {
	const server = useVirtualServer([fails(UNAVAILABLE, { afterMs: 100 }), replies({ afterMs: 10 })])
	const { done } = useClient(subject, server).invoke('Get', {})
	await server.advance(LONG_MS)
	expect(await done).toMatchObject({ items: [{ text: 'reply' }], status: { code: 0 } })
	expect(server.times).toEqual(timesLike(subject, [0, 100]))
})

testBoth('A6 hedging: later requests follow at hedgingDelay after that', async (subject) => {
	const server = useVirtualServer([hangs(), fails(ABORTED, { afterMs: 100 }), hangs(), replies()])
	const { done } = useClient(subject, server).invoke('Get', {})
	await server.advance(LONG_MS)
	expect((await done).status.code).toBe(0)
	expect(server.times).toEqual(timesLike(subject, [0, 500, 600, 1_100]))
})

testBoth(
	'A6 hedging: a non-fatal status is not returned while other requests are in flight',
	async (subject) => {
		const server = useVirtualServer([
			fails(UNAVAILABLE, { afterMs: 1_100 }),
			fails(ABORTED, { afterMs: 1_000 }),
			replies({ afterMs: 5_000 }),
			fails(UNAVAILABLE),
		])
		const { done } = useClient(subject, server).invoke('Get', {})
		await server.advance(LONG_MS)
		expect(await done).toMatchObject({ items: [{ text: 'reply' }], status: { code: 0 } })
		expect(server.requests).toHaveLength(4)
	},
)

testBoth('A6 hedging: any other status cancels all requests and is returned', async (subject) => {
	const server = useVirtualServer([hangs(), fails(INVALID_ARGUMENT, { afterMs: 700 }), hangs()])
	const { done } = useClient(subject, server).invoke('Get', {})
	await server.advance(LONG_MS)
	expect(await done).toMatchObject({ items: [], error: { code: INVALID_ARGUMENT } })
	expect(server.times).toEqual([0, 500, 1_000])
	expect(cancelTimes(server)).toEqual([1_200, undefined, 1_200])
})

testBoth('A6 hedging: without nonFatalStatusCodes every failure is returned', async (subject) => {
	const server = useVirtualServer(fails(UNAVAILABLE, { afterMs: 600 }))
	const { done } = useClient(subject, server, { nonFatalStatusCodes: undefined }).invoke('Get', {})
	await server.advance(LONG_MS)
	expect(await done).toMatchObject({ error: { code: UNAVAILABLE } })
	expect(server.times).toEqual([0, 500])
})

testBoth('A6 hedging: if all requests fail, the call fails without retries', async (subject) => {
	const server = useVirtualServer(fails(ABORTED, { afterMs: 2_000 }))
	const { done } = useClient(subject, server).invoke('Get', {})
	await server.advance(3_499)
	expect(server.times).toEqual([0, 500, 1_000, 1_500])
	await server.advance(LONG_MS)
	expect(await done).toMatchObject({ error: { code: ABORTED } })
	expect(server.requests).toHaveLength(4)
})

testBoth(
	'A6 hedging: messages are sent to all requests in flight, and to those that follow',
	async (subject) => {
		const server = useVirtualServer([hangs(), hangs(), replies({ afterMs: 100 })])
		const { requests, done } = useClient(subject, server, { maxAttempts: 3 }).invoke(
			'Upload',
			[{ text: 'a' }],
			{ leaveOpen: true },
		)
		await server.advance(600)
		requests?.write({ text: 'b' })
		await server.advance(0)
		const texts = () => server.requests.map(({ messages }) => messages.map(({ text }) => text).join(''))
		expect(texts()).toEqual(['ab', 'ab'])
		requests?.end()
		await server.advance(LONG_MS)
		expect(texts()).toEqual(['ab', 'ab', 'ab'])
		expect(server.requests.map(({ isHalfClosed }) => isHalfClosed)).toEqual([true, true, true])
		expect((await done).status.code).toBe(0)
	},
)

expectTestsOf(HEDGED)
