import { expect, test } from 'vitest'
import { HttpError } from 'yaoki'
import type { RelayCircuitBreakerOptions } from '../../../src/outbox/destinations/destination.ts'
import { setup } from './setup.ts'

const RETRY = { baseDelayMs: 600_000, maxDelayMs: 600_000, jitterStrategy: 'none' } as const

/** Sends forty messages, a second apart, some of which fail. Returns after how many the circuit opened; 40 if it never did. */
async function sentBefore(
	breaker: RelayCircuitBreakerOptions,
	fails: (n: number) => boolean,
	takesMs = 0,
	error?: Error,
) {
	await using system = await setup()
	const deliver = system.sends(async ({ payload }) => {
		await system.pause(takesMs)
		if (fails(Number(payload))) throw error ?? new Error('no')
	})
	await system.relay({ jobs: { deliver, maxConcurrent: 1, circuitBreaker: breaker } }, { retry: RETRY })
	for (let n = 0; n < 40 && system.eventsOf('relay_state_change').length === 0; n++) {
		await system.enqueue(1)
		await system.clock.advance(1_000)
	}
	return system.sendings.length
}

const always = () => true
const everyOther = (n: number) => n % 2 === 0
const never = () => false

test('failureThreshold consecutive failures open the circuit; a success resets the count', async () => {
	expect(await sentBefore({ failureThreshold: 7 }, always)).toBe(7)
	expect(await sentBefore({}, always)).toBe(5)
	expect(await sentBefore({ failureThreshold: 2 }, everyOther)).toBe(40)
})

test('failures further apart than monitorWindowMs are not counted together', async () => {
	expect(await sentBefore({ failureThreshold: 4, monitorWindowMs: 2_500 }, always)).toBe(40)
	expect(await sentBefore({ failureThreshold: 4, monitorWindowMs: 5_000 }, always)).toBe(4)
})

test('errorRateThreshold opens the circuit by the share of failures from minimumRequests on', async () => {
	expect(await sentBefore({ errorRateThreshold: 0.5 }, everyOther)).toBe(10)
	expect(await sentBefore({ errorRateThreshold: 0.5, minimumRequests: 20 }, everyOther)).toBe(20)
	expect(await sentBefore({ errorRateThreshold: 0.6, minimumRequests: 4 }, everyOther)).toBe(40)
})

test('windowSize counts the latest results, whatever their age', async () => {
	const breaker = { errorRateThreshold: 0.5, windowSize: 6, minimumRequests: 6, monitorWindowMs: 2_000 }
	expect(await sentBefore(breaker, everyOther)).toBe(6)
})

test('slowCallMs opens the circuit for slow successes', async () => {
	expect(await sentBefore({ slowCallMs: 300, minimumRequests: 5 }, never, 400)).toBe(5)
	expect(await sentBefore({ slowCallMs: 500, minimumRequests: 5 }, never, 400)).toBe(40)
	expect(
		await sentBefore({ slowCallMs: 300, slowCallRateThreshold: 1, minimumRequests: 8 }, never, 400),
	).toBe(8)
})

test('isFailure decides what counts as a failure', async () => {
	const isFailure = (error: unknown) => error instanceof HttpError && error.statusCode === 404
	expect(await sentBefore({ failureThreshold: 3, isFailure }, always, 0, new HttpError(404))).toBe(3)
	expect(await sentBefore({ failureThreshold: 3, isFailure }, always, 0, new HttpError(500))).toBe(40)
})

test('initialMs is the first open time; a retryAfterMs of a transient error extends it up to maxRetryAfterMs', async () => {
	for (const [maxRetryAfterMs, openMs] of [
		[0, 3_000],
		[60_000, 20_000],
		[8_000, 8_000],
	] as const) {
		await using system = await setup()
		await system.enqueue(1)
		const deliver = system.sends(() => {
			throw Object.assign(new Error('down'), { retryAfterMs: 20_000 })
		})
		const resetBackoff = { initialMs: 3_000, jitterStrategy: 'none' } as const
		const breaker = { failureThreshold: 1, resetBackoff, maxRetryAfterMs }
		await system.relay({ jobs: { deliver, circuitBreaker: breaker } }, { retry: RETRY })
		await system.clock.advance(100)
		expect(system.eventsOf('relay_state_change')).toMatchObject([{ to: 'open', pausedForMs: openMs }])
	}
})
