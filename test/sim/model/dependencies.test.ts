import { describe, expect, it } from 'vitest'
import {
	type DependencyModel,
	type PolicyLayer,
	type Scenario,
	type ServerModel,
	type SimulationResult,
	simulate,
} from 'yaoki/sim'
import { api, atOnce, every, type Parts, serviceOf, setup, web } from '../setup.ts'

/** `api` calls `db` before its own work of 10 ms. */
function chain(hop: Partial<DependencyModel>, db: Partial<ServerModel>, parts: Parts = {}): Scenario {
	return setup({
		...parts,
		api: { workers: 100, dependsOn: [{ to: 'db', ...hop }], ...parts.api },
		rest: { ...parts.rest, services: { db: { workers: 100, serviceTimeMs: 5, ...db } } },
	})
}

const db = (result: SimulationResult) => serviceOf(result, 'db')
const dead = { faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] } as const
const hung = { faults: [{ kind: 'outage', mode: 'hang', fromMs: 0, toMs: 1e6 }] } as const
const thrice: readonly PolicyLayer[] = [{ retry: { maxRetries: 2, baseDelayMs: 1 } }]

describe('a service that calls another', () => {
	it('does so before its own work, with a busy worker', () => {
		const result = simulate(
			chain({}, { serviceTimeMs: 50 }, { api: { workers: 1 }, web: { arrivals: atOnce(2) } }),
		)
		expect(result.totals.lastResponseAtMs).toBe(2 * (50 + 10))
		expect(api(result)).toMatchObject({ usefulMs: 120, utilization: 1, capacityPerSecond: null })
		expect(db(result)).toMatchObject({ requests: 2, usefulMs: 100 })
	})

	it('is as busy as the other is slow', () => {
		const slow = simulate(
			chain(
				{},
				{ serviceTimeMs: 1_000 },
				{ api: { workers: 3, queue: { limit: 0 } }, web: { arrivals: every(1, 20) } },
			),
		)
		expect(web(slow)).toMatchObject({ good: 3, failed: 17 })
	})

	it('responds with a retryable 502 if the other fails', () => {
		const result = simulate(chain({}, dead, { policy: thrice }))
		expect(web(result)).toMatchObject({ failed: 1, requests: 3 })
		expect(api(result)).toMatchObject({ requests: 3, failed: 3, wasted: 3 })
	})

	it('never responds if the other hangs without a timeout', () => {
		const result = simulate(chain({}, hung, { api: { workers: 2 }, web: { arrivals: atOnce(5) } }))
		expect(web(result)).toMatchObject({ good: 0, failed: 0, unfinished: 5 })
		expect(result.endedBy).toBe('idle')
	})

	it('calls several in order, and none after a failure', () => {
		const two = (first: Partial<ServerModel>) =>
			simulate(
				setup({
					api: { dependsOn: [{ to: 'a' }, { to: 'b' }] },
					rest: { services: { a: { serviceTimeMs: 7, ...first }, b: { serviceTimeMs: 3 } } },
				}),
			)
		expect(two({}).totals.lastResponseAtMs).toBe(7 + 3 + 10)
		expect(serviceOf(two(dead), 'b').requests).toBe(0)
	})

	it('calls only for the configured share of requests', () => {
		const asked = (share: number) =>
			db(simulate(chain({ share }, {}, { web: { arrivals: every(1, 4_000) } }))).requests
		expect([asked(0), asked(1)]).toEqual([0, 4_000])
		expect(Math.abs(asked(0.3) - 1_200)).toBeLessThan(5 * Math.sqrt(4_000 * 0.3 * 0.7))
	})

	it('draws twice for two dependencies on the same service', () => {
		const twice = { workers: 100, dependsOn: [1, 2].map(() => ({ to: 'db', share: 0.5 })) }
		const result = simulate(
			chain({}, { serviceTimeMs: 1 }, { api: twice, web: { arrivals: every(20, 2_000) } }),
		)
		const took = result.clients['web']?.latency
		expect(Math.abs(db(result).requests - 2_000)).toBeLessThan(5 * Math.sqrt(4_000 * 0.25))
		// With a single draw no request would call once, and the median would be 10 or 12.
		expect(took?.p50Ms).toBeGreaterThan(10.8)
		expect(took?.p50Ms).toBeLessThan(11.2)
	})

	it('may be in a long chain', () => {
		const names = Array.from({ length: 50 }, (_, index) => `s${index}`)
		const services = Object.fromEntries(
			names.map((name, index) => [
				name,
				{ serviceTimeMs: 1, dependsOn: index < 49 ? [{ to: `s${index + 1}` }] : [] },
			]),
		)
		const result = simulate({
			until: 'idle',
			services,
			clients: { web: { to: 's0', arrivals: { kind: 'trace', atMs: [0] } } },
		})
		expect(result.totals.lastResponseAtMs).toBe(50)
		expect(result.totals.amplification).toBe(1)
	})
})

describe('retries on two levels', () => {
	const both = (passContext: boolean) =>
		simulate(
			chain({ policy: 'inner', passContext }, dead, {
				policy: thrice,
				rest: { policies: { inner: thrice } },
			}),
		)

	it('multiply without a context: A(3) x B(3) = 9', () => {
		expect([api(both(false)).requests, db(both(false)).requests]).toEqual([3, 9])
		expect(both(false).totals.amplification).toBe(9)
	})

	it('do not multiply if the context is passed on', () => {
		expect([api(both(true)).requests, db(both(true)).requests]).toEqual([1, 3])
	})

	it('are left to the outermost with nested: outermost', () => {
		const nested = (inner: readonly PolicyLayer[]) =>
			simulate(
				chain({ policy: 'inner', passContext: true }, dead, {
					policy: thrice,
					rest: { policies: { inner } },
				}),
			)
		const outermost = nested([{ retry: { maxRetries: 2, baseDelayMs: 1, nested: 'outermost' } }])
		expect([api(outermost).requests, db(outermost).requests]).toEqual([3, 3])
	})

	it('use the budget of their hop, which all requests of the service share', () => {
		const budgeted: readonly PolicyLayer[] = [
			{ retry: { maxRetries: 2, baseDelayMs: 1, budget: { maxRetryRatio: 0.1, minRetriesPerSecond: 0 } } },
		]
		const result = simulate(
			chain({ policy: 'inner' }, dead, {
				web: { arrivals: every(1, 1_000) },
				rest: { policies: { inner: budgeted } },
			}),
		)
		expect(db(result).requests).toBe(1_100)
	})
})

describe('a caller that times out', () => {
	const impatient: readonly PolicyLayer[] = [{ timeoutMs: 20 }]
	const busyDb = { workers: 1, serviceTimeMs: 100, queue: { dropExpired: true } } as const
	const met = (hop: Partial<DependencyModel>, inner: readonly PolicyLayer[] = thrice) =>
		simulate(
			chain(hop, busyDb, {
				web: { arrivals: every(1, 6) },
				policy: impatient,
				rest: { policies: { inner } },
			}),
		)

	it('is unknown downstream without a context: all work is done and wasted', () => {
		const result = met({ policy: 'inner' })
		expect(web(result)).toMatchObject({ good: 0, failed: 6 })
		expect(db(result)).toMatchObject({ useful: 6, dropped: 0 })
		expect(api(result)).toMatchObject({ useful: 0, wasted: 6 })
	})

	it.each(['inner', undefined])(
		'is known further down by its context, with a policy of %s on the hop',
		(policy) => {
			const result = met({ policy, passContext: true })
			expect(db(result)).toMatchObject({ useful: 0, wasted: 1, dropped: 5 })
			expect(web(result)).toEqual(web(met({ policy: 'inner' })))
		},
	)

	it('frees the worker if its context is passed on', () => {
		const worked = (passContext: boolean) => api(met({ policy: 'inner', passContext })).wastedMs
		expect(worked(true)).toBe(6 * 20)
		expect(worked(false)).toBeGreaterThan(100 + 200 + 300 + 400 + 500 + 600)
	})

	it('prevents the downstream call of a worker that starts later', () => {
		const late = (passContext: boolean) =>
			simulate(
				chain(
					{ passContext },
					{},
					{ api: { workers: 1, serviceTimeMs: 30 }, web: { arrivals: atOnce(3) }, policy: impatient },
				),
			)
		expect(db(late(false)).requests).toBe(3)
		expect(db(late(true)).requests).toBe(1)
	})

	it('passes its deadline on', () => {
		const deadline = (passContext: boolean) =>
			simulate(
				chain({ passContext, policy: 'inner' }, hung, {
					web: { deadlineMs: 40 },
					rest: { policies: { inner: thrice } },
				}),
			)
		expect(web(deadline(false))).toMatchObject({ failed: 1 })
		// The worker is informed, too.
		expect(api(deadline(true))).toMatchObject({ wasted: 1, wastedMs: 40 })
		expect(api(deadline(false))).toMatchObject({ wasted: 0 })
	})
})

it('amplification counts only the calls of clients that reach the service', () => {
	const result = simulate({
		until: 'idle',
		services: {
			api: { serviceTimeMs: 1, dependsOn: [{ to: 'db' }] },
			db: { serviceTimeMs: 1, ...dead },
			elsewhere: { serviceTimeMs: 0 },
		},
		clients: {
			web: { to: 'api', arrivals: { kind: 'trace', atMs: [0] }, policy: 'web' },
			reports: { to: 'db', arrivals: every(1, 10) },
			crowd: { to: 'elsewhere', arrivals: every(1, 1_000) },
		},
		policies: { web: thrice },
	})
	expect(api(result).amplification).toBe(3)
	expect(db(result).amplification).toBe((3 + 10) / (1 + 10))
	// Many calls to another service do not hide the amplification here.
	expect(result.totals.amplification).toBe(3)
})
