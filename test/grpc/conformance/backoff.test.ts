import { expect, test, vi } from 'vitest'
import { seededRandom } from 'yaoki/testing'
import { RETRY, withMethod } from '../service-config/configs.ts'
import { useVirtualServer } from '../support/virtual-server.ts'
import { fails } from '../support/virtual-steps.ts'
import { expectTestsOf } from './rule-tests.ts'
import { BACKOFF } from './rules/retry.ts'
import { type Subject, testBoth, useVirtualClient } from './subjects.ts'

const LONG_MS = 10_000_000

/** Returns the delays of a call that always fails, in milliseconds. `random` is what `Math.random` returns. */
async function delaysOf(subject: Subject, changes: object, random: number): Promise<readonly number[]> {
	vi.spyOn(Math, 'random').mockReturnValue(random)
	const server = useVirtualServer(fails(14))
	const retryPolicy = { ...RETRY, maxAttempts: 5, ...changes }
	const { done } = useVirtualClient(subject, server, withMethod({ retryPolicy })).invoke('Get', {})
	await server.advance(LONG_MS)
	await done
	return server.times.slice(1).map((time, index) => time - (server.times[index] ?? 0))
}

const near = (delays: readonly number[]) => delays.map((delay) => expect.closeTo(delay, -1))

testBoth('A6 backoff: the first delay is initialBackoff * random(0.8, 1.2)', async (subject) => {
	const changes = { initialBackoff: '10s', maxBackoff: '1000s' }
	for (const [random, delay] of [
		[0, 8_000],
		[0.25, 9_000],
		[0.5, 10_000],
		[0.999_999, 12_000],
	] as const)
		expect((await delaysOf(subject, changes, random))[0]).toEqual(expect.closeTo(delay, -1))
})

testBoth(
	'A6 backoff: the n-th delay is min(initialBackoff * backoffMultiplier ** (n - 1), maxBackoff) * random(0.8, 1.2)',
	async (subject) => {
		const changes = { initialBackoff: '1s', maxBackoff: '5s', backoffMultiplier: 2 }
		expect(await delaysOf(subject, changes, 0.5)).toEqual([1_000, 2_000, 4_000, 5_000])
		expect(await delaysOf(subject, changes, 0)).toEqual(near([800, 1_600, 3_200, 4_000]))
		const uneven = { initialBackoff: '0.1s', maxBackoff: '120s', backoffMultiplier: 3.5 }
		expect(await delaysOf(subject, uneven, 0.5)).toEqual(near([100, 350, 1_225, 4_287.5]))
	},
)

testBoth('A6 backoff: delays are spread evenly from 80 % to 120 %', async (subject) => {
	const CALLS = 250
	vi.spyOn(Math, 'random').mockImplementation(seededRandom(6))
	const server = useVirtualServer(fails(14))
	const retryPolicy = { ...RETRY, maxAttempts: 2, initialBackoff: '100s', maxBackoff: '100s' }
	const client = useVirtualClient(subject, server, withMethod({ retryPolicy }))
	const calls = Array.from({ length: CALLS }, () => client.invoke('Get', {}).done)
	await server.advance(LONG_MS)
	await Promise.all(calls)
	const delays = server.times.slice(CALLS)
	expect(delays).toHaveLength(CALLS)
	expect(Math.min(...delays)).toBeGreaterThanOrEqual(80_000)
	expect(Math.max(...delays)).toBeLessThanOrEqual(120_000)
	// Each quarter of the range has a quarter of the delays.
	for (const from of [80_000, 90_000, 100_000, 110_000]) {
		const count = delays.filter((delay) => delay >= from && delay < from + 10_000).length
		expect(count / CALLS).toBeGreaterThan(0.17)
		expect(count / CALLS).toBeLessThan(0.33)
	}
	const mean = delays.reduce((sum, delay) => sum + delay, 0) / CALLS
	expect(mean).toBeGreaterThan(98_000)
	expect(mean).toBeLessThan(102_000)
})

testBoth('A6 backoff: a delay at maxBackoff still has jitter', async (subject) => {
	const changes = { initialBackoff: '1s', maxBackoff: '1s' }
	expect(await delaysOf(subject, changes, 0)).toEqual(near([800, 800, 800, 800]))
	expect(await delaysOf(subject, changes, 0.999_999)).toEqual(near([1_200, 1_200, 1_200, 1_200]))
})

testBoth('A6 backoff: a backoffMultiplier of 1 keeps the delay', async (subject) => {
	const changes = { initialBackoff: '1s', maxBackoff: '9s', backoffMultiplier: 1 }
	expect(await delaysOf(subject, changes, 0.5)).toEqual([1_000, 1_000, 1_000, 1_000])
})

testBoth('A6 backoff: a backoffMultiplier below 1 shortens the delay', async (subject) => {
	const changes = { initialBackoff: '8s', maxBackoff: '9s', backoffMultiplier: 0.5 }
	expect(await delaysOf(subject, changes, 0.5)).toEqual([8_000, 4_000, 2_000, 1_000])
})

const LOW_MAXIMUM = { initialBackoff: '4s', maxBackoff: '1s' }

test('A6 backoff: the first delay is the lesser of initialBackoff and maxBackoff', async () => {
	expect(await delaysOf('Yaoki', LOW_MAXIMUM, 0.5)).toEqual([1_000, 1_000, 1_000, 1_000])
	const shrinking = { ...LOW_MAXIMUM, backoffMultiplier: 0.5 }
	expect(await delaysOf('Yaoki', shrinking, 0.5)).toEqual([1_000, 1_000, 1_000, 500])
})

test('grpc-js does not limit the first delay by maxBackoff', async () => {
	expect(await delaysOf('grpc-js', LOW_MAXIMUM, 0.5)).toEqual([4_000, 1_000, 1_000, 1_000])
})

expectTestsOf(BACKOFF)
