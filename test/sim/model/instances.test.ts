import { describe, expect, it } from 'vitest'
import { circuitBreaker, pipeline, retry, retryBudget } from 'yaoki'
import { type ClientModel, type PolicyLayer, type PolicyModel, simulate } from 'yaoki/sim'
import { api, every, setup, web } from '../setup.ts'

const dead = { faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] } as const

/** Returns the requests that a dead service gets from 100 calls. */
const requests = (policy: PolicyModel, client: Partial<ClientModel> = {}): number =>
	api(simulate(setup({ api: dead, web: { arrivals: every(1, 100), ...client }, policy }))).requests

const breaker: PolicyLayer = { circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 1e5 } }
const budget = { maxRetryRatio: 0, minRetriesPerSecond: 1, windowMs: 10_000 }
const budgeted = (shared: boolean): readonly PolicyLayer[] => [
	{ retry: { maxRetries: 50, baseDelayMs: 0, budget: { ...budget, shared } } },
]

describe('a breaker', () => {
	it('is shared by all calls of a client by default', () => {
		expect(requests([breaker])).toBe(3)
	})

	it('is separate for each instance', () => {
		expect(requests([breaker], { instances: 4 })).toBe(4 * 3)
	})

	it('is separate for each user of a closed loop', () => {
		const users = { kind: 'closed', users: 5, callsEach: 10, thinkMs: 1 } as const
		expect(requests([breaker], { arrivals: users })).toBe(5 * 3)
		expect(requests([breaker], { arrivals: users, instances: 1 })).toBe(3)
	})

	it('is shared by all instances with shared: true', () => {
		expect(requests([{ ...breaker, shared: true }], { instances: 4 })).toBe(3)
	})

	it('is shared if a function creates it with once', () => {
		const made =
			(isShared: boolean): PolicyModel =>
			({ once }) => {
				const make = () => circuitBreaker({ failureThreshold: 3, resetTimeoutMs: 1e5 })
				return pipeline(isShared ? once('breaker', make) : make())
			}
		expect(requests(made(false), { instances: 4 })).toBe(12)
		expect(requests(made(true), { instances: 4 })).toBe(3)
	})

	it('is separate for each client, unless the policy and its breaker are shared', () => {
		const two = (layer: PolicyLayer) =>
			api(
				simulate({
					until: 'idle',
					services: { api: { serviceTimeMs: 1, ...dead } },
					clients: {
						web: { to: 'api', arrivals: every(1, 50), policy: 'p' },
						app: { to: 'api', arrivals: every(1, 50), policy: 'p' },
					},
					policies: { p: [layer] },
				}),
			).requests
		expect(two(breaker)).toBe(6)
		expect(two({ ...breaker, shared: true })).toBe(3)
	})
})

describe('a budget', () => {
	it('is separate for each instance', () => {
		expect(requests(budgeted(false))).toBe(100 + 10)
		expect(requests(budgeted(false), { instances: 4 })).toBe(100 + 4 * 10)
	})

	it('is shared with shared: true', () => {
		expect(requests(budgeted(true), { instances: 4 })).toBe(100 + 10)
	})

	it('is shared if a function creates it with once, in virtual time', () => {
		const policy: PolicyModel = ({ once, runtime }) =>
			retry({
				maxRetries: 50,
				baseDelayMs: 0,
				budget: once('budget', () => retryBudget({ ...budget, runtime })),
			})
		expect(requests(policy, { instances: 4 })).toBe(100 + 10)
	})

	it.each([
		['tokens', { kind: 'tokens', maxTokens: 20, shared: true }],
		['quota', { kind: 'quota', shared: true }],
	] as const)('of %s can be shared as well', (_kind, model) => {
		const layers = (shared: boolean): readonly PolicyLayer[] => [
			{ retry: { maxRetries: 5, baseDelayMs: 0, budget: { ...model, shared } } },
		]
		expect(requests(layers(true), { instances: 10 })).toBe(requests(layers(true)))
		expect(requests(layers(false), { instances: 10 })).toBeGreaterThan(requests(layers(true)))
	})

	it('starts fresh in every run', () => {
		expect(requests(budgeted(true))).toBe(requests(budgeted(true)))
	})
})

describe('instances', () => {
	it('get calls round-robin', () => {
		const seen: number[] = []
		let instance = 0
		const policy: PolicyModel = () => {
			const own = instance++
			return retry({
				retryResult: () => {
					seen.push(own)
					return false
				},
			})
		}
		simulate(setup({ web: { arrivals: every(20, 7), instances: 3 }, policy }))
		expect(seen).toEqual([0, 1, 2, 0, 1, 2, 0])
	})
})

it('a breaker in shadow mode lets every call through, whatever is inside', () => {
	const shadow: PolicyLayer = { circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 1e5, shadow: true } }
	const inside: readonly PolicyLayer[] = [{ timeoutMs: 50 }, { retry: { maxRetries: 0 } }, { bulkhead: {} }]
	for (const layer of inside) {
		const result = simulate(setup({ api: dead, web: { arrivals: every(1, 20) }, policy: [shadow, layer] }))
		expect(web(result)).toMatchObject({ calls: 20, requests: 20, failed: 20, rejected: 0 })
	}
})
