import { describe, expect, it } from 'vitest'
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { type PolicyLayer, type PolicyModel, type Scenario, simulate } from 'yaoki/sim'
import { api, atOnce, every, type Parts, setup, web } from '../setup.ts'

const dead = { faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] } as const
const forEver: PolicyLayer = { retry: { maxRetries: 1e12, baseDelayMs: 0, jitterStrategy: 'none' } }
const users = { arrivals: { kind: 'closed', users: 3 } } as const

/** All of these would run forever without virtual time passing, or for too long. */
const endless: Readonly<Record<string, Parts>> = {
	'users without think time, and a service without service time': {
		api: { serviceTimeMs: 0 },
		web: users,
	},
	'users whose calls fail immediately': { api: dead, web: users },
	'users whose calls are rejected by a full queue': {
		api: { queue: { limit: 0 }, serviceTimeMs: 1e9 },
		web: users,
	},
	'users whose calls are rejected by their own breaker': {
		api: dead,
		web: users,
		policy: [{ circuitBreaker: {} }],
	},
	'a retry without a wait or an end against a service that is down': { api: dead, policy: [forEver] },
	'the same inside a timeout, for which no time passes': { api: dead, policy: [{ timeoutMs: 100 }, forEver] },
	'the same on two floors': { api: dead, policy: [forEver, forEver] },
	'retries on a hop': {
		api: { dependsOn: [{ to: 'db', policy: 'hop' }] },
		rest: { services: { db: { serviceTimeMs: 1, ...dead } }, policies: { hop: [forEver] } },
	},
	'a row with a thousand concurrent writers and no latency': {
		web: { to: 'row', arrivals: atOnce(1_000) },
		policy: [forEver],
		rest: { services: { row: { kind: 'optimistic-lock' } } },
	},
	'a million calls a second': {
		web: { arrivals: { kind: 'constant', perSecond: 1e6 } },
		rest: { durationMs: 1e9 },
	},
	'a service time below the resolution of the clock at a late hour': {
		api: { serviceTimeMs: 1e-9 },
		web: { arrivals: { kind: 'closed', users: 1, startWithinMs: 1e15 } },
	},
}

const limited = (parts: Parts, maxEvents: number): Scenario =>
	setup({ ...parts, rest: { durationMs: 1e12, ...parts.rest, maxEvents } })

describe.each(Object.entries(endless))('%s', (_what, parts) => {
	it('end at the event limit, and the result says so', () => {
		const result = simulate(limited(parts, 20_000))
		expect(result.endedBy).toBe('event-limit')
		expect(result.events).toBeLessThanOrEqual(20_000)
	})

	it('give the same bytes twice', () => {
		const [one, other] = [1, 2].map(() => JSON.stringify(simulate(limited(parts, 3_000))))
		expect(one).toBe(other)
	})
})

describe('a policy with hooks', () => {
	const never = { api: dead, web: { arrivals: every(1, 3) } }
	const withPolicy = (policy: PolicyModel) =>
		simulate(setup({ ...never, policy, rest: { maxEvents: 10_000 } }))

	it('ends at the limit if it always retries immediately', () => {
		const result = withPolicy(() =>
			retry({ maxRetries: 1e12, baseDelayMs: 0, shouldRetry: () => true, delayFor: () => 0 }),
		)
		expect(result.endedBy).toBe('event-limit')
	})

	it('ends at the limit if it retries against an open breaker, without a request', () => {
		const result = withPolicy(() =>
			pipeline(
				retry({ maxRetries: 1e12, shouldRetry: () => true, delayFor: () => 0 }),
				circuitBreaker({ failureThreshold: 1 }),
			),
		)
		expect(result.endedBy).toBe('event-limit')
		expect(api(result).requests).toBe(1)
	})

	it('ends at the limit if it calls itself', () => {
		const result = withPolicy(() => {
			const inner = retry({ maxRetries: 1e6, baseDelayMs: 0 })
			return pipeline(inner, inner, inner)
		})
		expect(result.endedBy).toBe('event-limit')
	})
})

describe('no loop', () => {
	it('is detected in many concurrent retries', () => {
		const often: PolicyLayer = { retry: { maxRetries: 100_000, baseDelayMs: 0, jitterStrategy: 'none' } }
		const result = simulate(setup({ api: dead, policy: [often] }))
		expect(result.endedBy).toBe('idle')
		expect(web(result).requests).toBe(100_001)
	})

	it('is detected in many calls that time out at the same time', () => {
		const hung = { faults: [{ kind: 'outage', mode: 'hang', fromMs: 0, toMs: 50 }] } as const
		const result = simulate(
			setup({
				api: { ...hung, workers: Infinity },
				web: { arrivals: atOnce(30_000) },
				policy: [
					{ retry: { baseDelayMs: 10 } },
					{ circuitBreaker: { failureThreshold: 1e6 } },
					{ timeoutMs: 100 },
				],
			}),
		)
		expect(result).toMatchObject({ endedBy: 'idle', totals: { goodShare: 1 } })
	})
})

describe('the limit', () => {
	it('is reported even if the run would have ended soon after', () => {
		const calls = setup({ web: { arrivals: every(1, 100) } })
		// Per call: the arrival, the request and the end of the work.
		expect(simulate({ ...calls, maxEvents: 299 })).toMatchObject({ endedBy: 'event-limit' })
		expect(simulate({ ...calls, maxEvents: 301 })).toMatchObject({ endedBy: 'idle', events: 200 })
	})

	it('leaves calls unfinished, with consistent counts', () => {
		const { calls, good, late, failed, unfinished } = web(
			simulate(limited(endless['a million calls a second'] ?? {}, 5_000)),
		)
		expect(good + late + failed + unfinished).toBe(calls)
		expect(unfinished).toBeGreaterThan(0)
	})

	it('holds for further calls of advance', () => {
		simulate(limited(endless['users whose calls fail immediately'] ?? {}, 1_000))
		expect(simulate(setup())).toMatchObject({ endedBy: 'idle', endedAtMs: 10 })
	})
})
