import { describe, expect, test } from 'vitest'
import { type Fault, type ServerModel, simulate } from 'yaoki/sim'
import type { LoadBalancerModel } from '../../../src/sim/scenario/scenario.ts'
import { api, every, serviceOf, setup, web } from '../setup.ts'

const DEAD: Fault = { kind: 'outage', mode: 'refuse', fromMs: 1_000, toMs: 9_000, instances: 1 }

const run = (loadBalancer: LoadBalancerModel, rest: Partial<ServerModel> = {}) =>
	simulate(
		setup({
			api: { instances: 4, faults: [DEAD], loadBalancer, ...rest },
			web: { arrivals: every(10, 1_000) },
			policy: [{ timeoutMs: 90 }],
		}),
	)

describe('a dead instance of four', () => {
	test('fails a quarter of the calls without ejection', () => {
		expect(web(run({})).failed).toBe(200)
	})

	test('fails few calls with ejection', () => {
		const result = run({ ejection: { ejectMs: 2_000 } })
		// Five, and five again each time it returns: after 2 and 4 more seconds.
		expect(web(result).failed).toBe(15)
		expect(api(result).instances?.map(({ ejections }) => ejections)).toEqual([3, 0, 0, 0])
	})

	test('is ejected for timeouts too', () => {
		const hung = run({ ejection: {} }, { faults: [{ ...DEAD, mode: 'hang' }] })
		expect(api(hung).instances?.[0]).toMatchObject({ failures: expect.any(Number), ejections: 1 })
		expect(web(hung).failed).toBeLessThan(15)
	})

	test('stays if too many would be out', () => {
		const all = { ...DEAD, instances: 4 } as const
		const ejected = (maxEjectedShare: number) =>
			api(run({ ejection: { maxEjectedShare } }, { faults: [all] })).instances?.filter(
				({ ejections }) => ejections > 0,
			).length
		expect([ejected(0.2), ejected(0.5), ejected(1)]).toEqual([0, 2, 3])
	})

	test('is ejected after consecutiveFailures', () => {
		const failures = (consecutiveFailures: number) =>
			web(run({ ejection: { consecutiveFailures, ejectMs: 60_000 } })).failed
		expect([failures(1), failures(20)]).toEqual([1, 20])
	})
})

test('a status below 500 is not a failure of the instance', () => {
	const errors = { kind: 'errors', rate: 1, status: 404, fromMs: 0, toMs: 1e6 } as const
	expect(api(run({ ejection: {} }, { faults: [errors] })).instances?.[0]).toMatchObject({ failures: 0 })
})

test('a success ends a series of failures', () => {
	// The first instance responds after 10, 30, 50, ... ms.
	const ejections = (...periods: readonly (readonly [fromMs: number, toMs: number])[]) => {
		const faults = periods.map(
			([fromMs, toMs]): Fault => ({ kind: 'errors', rate: 1, fromMs, toMs, instances: 1 }),
		)
		return api(run({ ejection: {} }, { instances: 2, faults })).instances?.[0]?.ejections
	}
	expect(ejections([0, 75], [95, 175])).toBe(0)
	expect(ejections([0, 95])).toBe(1)
})

describe('an instance that hangs', () => {
	const HUNG: Fault = { kind: 'outage', mode: 'hang', fromMs: 0, toMs: 1e6, instances: 1 }
	const api = { instances: 2, serviceTimeMs: 10, loadBalancer: { ejection: {} }, faults: [HUNG] }
	const arrivals = every(50, 100)

	// The load balancer did not learn of requests that a deadline or the signal of another service's caller had ended.
	test('is ejected because of deadlines', () => {
		const result = simulate(setup({ api, web: { arrivals, deadlineMs: 90 } }))
		expect(serviceOf(result, 'api').instances?.[0]).toMatchObject({ requests: 5, failures: 5, ejections: 1 })
	})

	test('is ejected because of the signals of callers that pass their context', () => {
		const front = { workers: Infinity, serviceTimeMs: 1, dependsOn: [{ to: 'db', passContext: true }] }
		const result = simulate(
			setup({
				api: front,
				web: { arrivals },
				policy: [{ timeoutMs: 90 }],
				rest: { services: { db: api } },
			}),
		)
		expect(serviceOf(result, 'db').instances?.[0]).toMatchObject({ requests: 5, failures: 5, ejections: 1 })
	})
})
