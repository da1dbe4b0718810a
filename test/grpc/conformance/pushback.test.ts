import { describe, expect, test, vi } from 'vitest'
import { RETRY, withMethod } from '../service-config/configs.ts'
import type { VirtualStep } from '../support/virtual-request.ts'
import { useVirtualServer, type VirtualServer } from '../support/virtual-server.ts'
import { fails, replies } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { PUSHBACK } from './rules/retry.ts'
import { type Subject, testBoth, timesLike, useVirtualClient } from './subjects.ts'

const MAX_INT32 = 2 ** 31 - 1
const UNAVAILABLE = 14

/** Makes a call, and returns its status code. */
async function call(subject: Subject, server: VirtualServer, policies: object): Promise<number> {
	const { done } = useVirtualClient(subject, server, withMethod(policies)).invoke('Get', {})
	await server.advance(MAX_INT32)
	return (await done).status.code
}

/** Returns the times of the requests of a call whose first attempt fails with this pushback, and whose second one succeeds. */
async function timesAfter(subject: Subject, pushback: string): Promise<readonly number[]> {
	const server = useVirtualServer([fails(UNAVAILABLE, { pushback }), replies()])
	const code = await call(subject, server, { retryPolicy: RETRY })
	expect(code).toBe(server.requests.length === 1 ? UNAVAILABLE : 0)
	return server.times
}

testBoth('A6 pushback: the retry is sent after exactly the given delay', async (subject) => {
	vi.spyOn(Math, 'random').mockReturnValue(0.9)
	expect(await timesAfter(subject, '1234')).toEqual([0, 1_234])
	expect(await timesAfter(subject, '3600000')).toEqual([0, 3_600_000])
})

testBoth('A6 pushback: a delay of 0 retries immediately', async (subject) => {
	expect(await timesAfter(subject, '0')).toEqual([0, 0].map((time) => expect.closeTo(time, -1)))
})

testBoth('A6 pushback: a negative value means no retry', async (subject) => {
	for (const value of ['-1', '-5000', '-2147483648']) expect(await timesAfter(subject, value)).toEqual([0])
})

describe('A6 pushback: a value that is not an integer means no retry', () => {
	test.each([
		'soon',
		'',
		' ',
		'-',
		'1.5',
		'1e3',
		'0x10',
		'+5',
		'5 ',
		' 5',
		'10abc',
		'NaN',
		'Infinity',
		'1,5',
	])('%j', async (value) => {
		expect(await timesAfter('Yaoki', value)).toEqual([0])
	})
})

test('grpc-js retries immediately after a pushback that is not a number', async () => {
	for (const value of ['soon', '', '-'])
		expect(await timesAfter('grpc-js', value)).toEqual(timesLike('grpc-js', [0, 0]))
})

test('grpc-js reads the digits at the beginning of a pushback', async () => {
	expect(await timesAfter('grpc-js', '1234abc')).toEqual([0, 1_234])
	expect(await timesAfter('grpc-js', '50.9')).toEqual([0, 50])
	expect(await timesAfter('grpc-js', '0x10')).toEqual([0, 16])
})

test('A6 pushback: a value with leading zeros means no retry', async () => {
	for (const value of ['01234', '00', '007']) expect(await timesAfter('Yaoki', value)).toEqual([0])
})

test('grpc-js ignores leading zeros of a pushback', async () => {
	expect(await timesAfter('grpc-js', '01234')).toEqual([0, 1_234])
})

test('A6 pushback: a value beyond 32 bits means no retry', async () => {
	for (const value of ['2147483648', '4294967296', '99999999999999999999'])
		expect(await timesAfter('Yaoki', value)).toEqual([0])
})

test('grpc-js retries immediately after a pushback beyond 32 bits', async () => {
	expect(await timesAfter('grpc-js', '2147483648')).toEqual(timesLike('grpc-js', [0, 0]))
})

testBoth('A6 pushback: the largest 32-bit value is a delay', async (subject) => {
	expect(await timesAfter(subject, String(MAX_INT32))).toEqual([0, MAX_INT32])
})

testBoth('A6 pushback: maxAttempts also limits retries that the server asks for', async (subject) => {
	const server = useVirtualServer(fails(UNAVAILABLE, { pushback: '10' }))
	expect(await call(subject, server, { retryPolicy: { ...RETRY, maxAttempts: 3 } })).toBe(UNAVAILABLE)
	expect(server.times).toEqual([0, 10, 20])
})

testBoth('A6 pushback: a pushback does not make a status retryable', async (subject) => {
	const server = useVirtualServer(fails(3, { pushback: '10' }))
	expect(await call(subject, server, { retryPolicy: RETRY })).toBe(3)
	expect(server.times).toEqual([0])
})

testBoth('A6 pushback: after a pushback the backoff begins again at initialBackoff', async (subject) => {
	vi.spyOn(Math, 'random').mockReturnValue(0.5)
	const failure = fails(UNAVAILABLE)
	const server = useVirtualServer([
		failure,
		failure,
		fails(UNAVAILABLE, { pushback: '5' }),
		failure,
		failure,
		failure,
	])
	const retryPolicy = { ...RETRY, maxAttempts: 5 }
	expect(await call(subject, server, { retryPolicy })).toBe(UNAVAILABLE)
	expect(server.times).toEqual([0, 100, 300, 305, 405])
})

const HEDGING = { maxAttempts: 4, hedgingDelay: '0.5s', nonFatalStatusCodes: [UNAVAILABLE] }

/** Makes a hedged call, and returns its status code. */
async function hedge(subject: Subject, steps: readonly VirtualStep[], changes: object = {}) {
	const server = useVirtualServer(steps)
	const code = await call(subject, server, { hedgingPolicy: { ...HEDGING, ...changes } })
	return { code, times: server.times, cancelled: server.requests.map(({ cancelledAt }) => cancelledAt) }
}

const LONG_PUSHBACK = [
	fails(UNAVAILABLE, { afterMs: 100, pushback: '2000' }),
	replies({ afterMs: 800 }),
	replies({ afterMs: 10_000 }),
]

test('A6 pushback: hedging: the next request is sent after the given delay, also if hedgingDelay is shorter', async () => {
	expect(await hedge('Yaoki', LONG_PUSHBACK)).toMatchObject({ code: 0, times: [0, 2_100, 2_600] })
})

test('grpc-js sends the next hedged request at hedgingDelay, if that is earlier than the pushback', async () => {
	expect(await hedge('grpc-js', LONG_PUSHBACK)).toMatchObject({ code: 0, times: [0, 500, 1_000] })
})

testBoth('A6 pushback: hedging: later requests follow at hedgingDelay after that', async (subject) => {
	const steps = [fails(UNAVAILABLE, { afterMs: 100, pushback: '50' }), replies({ afterMs: 1_200 })]
	expect(await hedge(subject, steps)).toMatchObject({ code: 0, times: [0, 150, 650, 1_150] })
})

const withPushback = (pushback: string) => [
	replies({ afterMs: 3_000 }),
	fails(UNAVAILABLE, { afterMs: 100, pushback }),
	replies({ afterMs: 60_000 }),
]

test('A6 pushback: hedging: a negative value means no further requests, and those in flight go on', async () => {
	const { code, times, cancelled } = await hedge('Yaoki', withPushback('-1'))
	expect({ code, times, cancelled }).toEqual({ code: 0, times: [0, 500], cancelled: [undefined, undefined] })
})

test('grpc-js ends a hedged call at a negative pushback and cancels the requests in flight', async () => {
	const { code, times, cancelled } = await hedge('grpc-js', withPushback('-1'))
	expect({ code, times, cancelled }).toEqual({
		code: UNAVAILABLE,
		times: [0, 500],
		cancelled: [600, undefined],
	})
})

test('A6 pushback: hedging: an unparseable value means no further requests', async () => {
	for (const value of ['soon', '01', '1.5', '2147483648'])
		expect(await hedge('Yaoki', withPushback(value))).toMatchObject({ code: 0, times: [0, 500] })
})

test('grpc-js sends the next hedged request immediately after an unparseable pushback', async () => {
	const { times } = await hedge('grpc-js', withPushback('soon'))
	expect(times.slice(0, 3)).toEqual(timesLike('grpc-js', [0, 500, 600]))
})

testBoth(
	'A6 pushback: hedging: maxAttempts also limits requests that the server asks for',
	async (subject) => {
		const { code, times } = await hedge(subject, [fails(UNAVAILABLE, { pushback: '10' })], { maxAttempts: 3 })
		expect(code).toBe(UNAVAILABLE)
		expect(times).toEqual([0, 10, 20])
	},
)

expectTestsOf(PUSHBACK)
