/**
 * Retries and breakers against a service with random failures. 13 intervals: with fresh seeds about one run in 77 would
 * raise a false alarm.
 */
import { describe, expect, test } from 'vitest'
import { type CircuitBreaker, circuitBreaker } from 'yaoki'
import { type PolicyLayer, type Scenario, type ServerModel, simulate } from 'yaoki/sim'
import { expectAgreement, failedShare, known, requestsPerCall, runs, samples, web } from './agreement.ts'
import { meanAttempts, meanCallsToTrip } from './closed-form.ts'

/** One call every 10 ms. Services have unlimited workers, so that no call waits for another. */
const calling = (calls: number, policy?: string): Scenario['clients'] => ({
	web: { to: 'api', arrivals: { kind: 'constant', perSecond: 100, toMs: calls * 10 }, policy },
})

const plain = { workers: Infinity, serviceTimeMs: 1 } as const
const failing = (rate: number): ServerModel => ({
	...plain,
	faults: [{ kind: 'errors', rate, fromMs: 0, toMs: 1e9 }],
})

const attempts = (most: number): PolicyLayer[] => [{ retry: { maxRetries: most - 1, baseDelayMs: 5 } }]

describe('a retry against random failures', () => {
	test.each([
		[0.5, 2, 3_000],
		[0.7, 3, 2_000],
		[0.9, 5, 1_000],
	])(
		'fails p^n of the calls, at a probability of %f, after %i attempts, and needs (1 - p^n) / (1 - p) for each',
		(rate, most, calls) => {
			const stretches = runs(
				{
					until: 'idle',
					services: { api: failing(rate) },
					clients: calling(calls, 'again'),
					policies: { again: attempts(most) },
				},
				0,
			)
			expectAgreement(samples(stretches, failedShare), rate ** most)
			expectAgreement(samples(stretches, requestsPerCall()), meanAttempts(rate, most))
		},
	)
})

/** A chain of three services whose last one fails. The first two retry, with or without a shared context. */
const layered = (
	calls: number,
	rate: number,
	outer: number,
	inner: number,
	passContext: boolean,
): Scenario => ({
	until: 'idle',
	services: {
		api: { ...plain, dependsOn: [{ to: 'b', policy: 'outer', passContext }] },
		b: { ...plain, dependsOn: [{ to: 'c', policy: 'inner', passContext }] },
		c: failing(rate),
	},
	clients: calling(calls),
	policies: { outer: attempts(outer), inner: attempts(inner) },
})

describe('retries around retries', () => {
	const [rate, outer, inner] = [0.92, 3, 3]

	test('multiply without a context: 3 x 3 are as good and as expensive as 9', () => {
		const stretches = runs(layered(1_300, rate, outer, inner, false), 0)
		expectAgreement(samples(stretches, failedShare), rate ** 9)
		expectAgreement(samples(stretches, requestsPerCall('c')), meanAttempts(rate, 9))
		expectAgreement(samples(stretches, requestsPerCall('b')), meanAttempts(rate ** inner, outer))
	})
	test('do not multiply if the context is passed on: only the inner one retries', () => {
		const stretches = runs(layered(400, rate, outer, inner, true), 0)
		expectAgreement(samples(stretches, failedShare), rate ** inner)
		expectAgreement(samples(stretches, requestsPerCall('c')), meanAttempts(rate, inner))
		expect(new Set(samples(stretches, requestsPerCall('b')))).toEqual(new Set([1]))
	})
	test.each([
		[2, 5],
		[4, 3],
	])(
		'%i around %i are exactly their product when all fails, and the inner ones with contexts',
		(...sizes) => {
			const requests = (passContext: boolean) =>
				known(simulate(layered(100, 1, ...sizes, passContext)).services['c']).requests
			expect(requests(false)).toBe(100 * sizes[0] * sizes[1])
			expect(requests(true)).toBe(100 * sizes[1])
		},
	)
})

describe('a breaker that counts consecutive failures', () => {
	test.each([
		[0.5, 2],
		[0.8, 4],
	])(
		'lets (1 - p^k) / (p^k (1 - p)) calls through, at a failure probability of %f, before it opens at %i',
		(rate, failureThreshold) => {
			// One per run. A breaker that is closed as soon as it opens gives hundreds of samples in one run.
			const trips: number[] = []
			const careful = (): CircuitBreaker => {
				const run = trips.push(0) - 1
				const breaker = circuitBreaker({
					failureThreshold,
					monitorWindowMs: 1e9,
					onStateChange(_, to) {
						if (to !== 'open') return
						trips[run] = known(trips[run]) + 1
						breaker.reset()
					},
				})
				return breaker
			}
			const stretches = runs(
				{
					until: 'idle',
					services: { api: failing(rate) },
					clients: calling(4_000, 'careful'),
					policies: { careful },
				},
				0,
			)
			expect(stretches.map(({ after }) => web(after).rejected)).toEqual(trips.map(() => 0))
			expectAgreement(
				stretches.map(({ after }, run) => web(after).requests / known(trips[run])),
				meanCallsToTrip(rate, failureThreshold),
			)
		},
	)
})
