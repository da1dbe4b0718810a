import { expect, test } from 'vitest'
import { HttpError, permanent } from 'yaoki'
import type { JitterStrategy } from '../../../src/core/backoff/formula.ts'
import { computeDelayMs } from '../../../src/core/backoff/formula.ts'
import { readBackoff } from '../../../src/core/backoff/options.ts'
import { setup, type TestSystem } from './setup.ts'

const fail = (error: unknown) => () => {
	throw error
}

const gaps = (system: TestSystem): number[] =>
	system.sendings.slice(1).map(({ at }, n) => Math.round(at - (system.sendings[n]?.at ?? 0)))

const PLAIN = { baseDelayMs: 1_000, maxDelayMs: 60_000, jitterStrategy: 'none' } as const
const STRATEGIES: JitterStrategy[] = ['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive']

test.each(STRATEGIES)(
	'the n-th failure waits by the attempt n - 1 of the formula: %s',
	async (jitterStrategy) => {
		await using system = await setup()
		await system.enqueue(1)
		const retry = { baseDelayMs: 1_000, maxDelayMs: 60_000, maxRetries: 6, jitterStrategy }
		const random = () => 0.7
		const runtime = {
			...system.clock,
			now: () => system.clock.now(),
			wallNow: () => system.clock.wallNow(),
			random,
		}
		const relay = { retry, circuitBreaker: false, runtime: { ...runtime, setTimer: system.timer } } as const
		await system.relay({ jobs: system.sends(fail(new Error('no'))) }, relay)
		await system.clock.advance(600_000)
		const settings = readBackoff(retry)
		const expected: number[] = []
		for (let attempt = 0, previous = retry.baseDelayMs; attempt < retry.maxRetries; attempt++) {
			previous = computeDelayMs(settings, attempt, previous, { random })
			expected.push(previous)
		}
		expect(gaps(system)).toHaveLength(6)
		for (const [n, gap] of gaps(system).entries())
			expect(Math.abs(gap - (expected[n] ?? 0))).toBeLessThanOrEqual(2)
	},
)

test('the default is the preset messageQueue: ten retries with decorrelated jitter', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { circuitBreaker: false })
	await system.clock.advance(3_600_000)
	expect(system.sendings).toHaveLength(11)
	for (const gap of gaps(system)) {
		expect(gap).toBeGreaterThanOrEqual(1_000)
		expect(gap).toBeLessThanOrEqual(60_050)
	}
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', attempts: 11 })
})

test('an undefined option uses the preset', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const retry = { maxRetries: undefined, jitterStrategy: undefined, baseDelayMs: undefined }
	const options = { circuitBreaker: false, retry, pollMs: 10_000 } as const
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, options)
	await system.clock.advance(3_600_000)
	expect(system.sendings).toHaveLength(11)
})

test('Retry-After replaces the backoff, up to maxRetryAfterMs', async () => {
	await using system = await setup()
	await system.enqueue(1)
	const asked = Object.assign(new Error('later'), { retryAfterMs: 7_000 })
	const far = Object.assign(new Error('much later'), { retryAfterMs: 86_400_000 })
	const errors = [asked, far]
	const options = { circuitBreaker: false, retry: PLAIN, maxRetryAfterMs: 20_000 } as const
	await system.relay({ jobs: system.sends(({ attempts }) => fail(errors[attempts - 1])()) }, options)
	await system.clock.advance(33_900)
	const [first = 0, second = 0] = gaps(system)
	expect(first).toBeGreaterThanOrEqual(7_000)
	expect(first).toBeLessThan(8_850)
	expect(second).toBeGreaterThanOrEqual(20_000)
	expect(second).toBeLessThan(25_100)
})

test('a Retry-After of 0 or a date in the past keeps the schedule of the backoff', async () => {
	// Regression: 11 attempts and a dead letter within 436 ms.
	for (const value of ['0', 'Sun, 06 Nov 1994 08:49:37 GMT']) {
		await using system = await setup()
		await system.enqueue(1)
		const busy = Object.assign(new Error('busy'), { status: 503, headers: { 'retry-after': value } })
		const retry = { jitterStrategy: 'none', baseDelayMs: 1_000, maxRetries: 4 } as const
		await system.relay({ jobs: system.sends(fail(busy)) }, { circuitBreaker: false, retry })
		await system.clock.advance(60_000)
		expect(gaps(system)).toEqual([1_000, 2_000, 4_000, 8_000])
	}
})

test('the backoff does not continue from a Retry-After', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1)
	const asked = Object.assign(new Error('later'), { retryAfterMs: 50_000 })
	await system.relay({ jobs: system.sends(fail(asked)) }, { circuitBreaker: false })
	await system.clock.advance(100)
	const row = await system.store.find(id)
	expect(row).toMatchObject({ attempts: 1, status: 'pending' })
	expect(system.tx.prepare('SELECT delay_ms AS d FROM yaoki_outbox').all()).toEqual([{ d: null }])
})

test('a permanent failure makes a dead letter immediately', async () => {
	await using system = await setup()
	const [first = '', second = ''] = await system.enqueue(2)
	const errors = [permanent(new Error('never')), new HttpError(422)]
	await system.relay({ jobs: system.sends(({ payload }) => fail(errors[Number(payload) - 1])()) })
	await system.clock.advance(60_000)
	expect(system.sendings).toHaveLength(2)
	for (const id of [first, second])
		expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'permanent', attempts: 1 })
})

test('maxRetries of a message limits its retries', async () => {
	await using system = await setup()
	await system.outbox.enqueue({ topic: 'jobs', payload: 'none', maxRetries: 0 })
	await system.outbox.enqueue({ topic: 'jobs', payload: 'two', maxRetries: 2 })
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry: PLAIN, circuitBreaker: false })
	await system.clock.advance(60_000)
	expect(system.payloads().toSorted()).toEqual(['none', 'two', 'two', 'two'])
})

test('with maxRetries Infinity a message is retried until it expires', async () => {
	await using system = await setup()
	const lived = new Date(system.clock.wallNow() + 100_500)
	const [id = ''] = await system.enqueue(1, { expiresAt: lived })
	const retry = { ...PLAIN, maxDelayMs: 1_000, maxRetries: Infinity }
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry, circuitBreaker: false })
	await system.clock.advance(200_000)
	expect(system.sendings.length).toBeGreaterThan(90)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'expired' })
})

test('maxRetries Infinity of a message overrides the limit of its destination', async () => {
	await using system = await setup()
	const { id } = await system.outbox.enqueue({ topic: 'jobs', payload: 1, maxRetries: Infinity })
	const retry = { ...PLAIN, maxDelayMs: 1_000, maxRetries: 2 }
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry, circuitBreaker: false })
	await system.clock.advance(30_000)
	expect(system.sendings.length).toBeGreaterThan(20)
	expect(await system.outbox.find(id)).toMatchObject({ status: 'pending', maxRetries: Infinity })
})

test('an expired message becomes a dead letter without a call of its handler', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1, { expiresAt: new Date(system.clock.wallNow() + 500) })
	await system.clock.advance(1_000)
	await system.relay({ jobs: system.sends() })
	await system.clock.advance(1_000)
	expect(system.sendings).toEqual([])
	expect(await system.outbox.find(id)).toMatchObject({ status: 'dead', cause: 'expired' })
})

test('a message that would expire before its next attempt becomes a dead letter now, with its error', async () => {
	await using system = await setup()
	const [id = ''] = await system.enqueue(1, { expiresAt: new Date(system.clock.wallNow() + 2_500) })
	await system.relay({ jobs: system.sends(fail(new Error('no'))) }, { retry: PLAIN, circuitBreaker: false })
	await system.clock.advance(1_100)
	expect(system.sendings).toHaveLength(2)
	const dead = { status: 'dead', cause: 'expired', lastError: { message: 'no' } }
	expect(await system.outbox.find(id)).toMatchObject(dead)
})

test('a claimed and queued message can expire', async () => {
	await using system = await setup()
	const ids = await system.enqueue(2, { expiresAt: new Date(system.clock.wallNow() + 5_000) })
	await system.relay({ jobs: { deliver: system.sends(() => system.pause(6_000)), maxConcurrent: 1 } })
	await system.clock.advance(10_000)
	expect(system.payloads()).toEqual([1])
	expect(await system.outbox.find(ids[1] ?? '')).toMatchObject({ cause: 'expired' })
})
