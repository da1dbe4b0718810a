import { describe, expect, test } from 'vitest'
import { type ServerModel, simulate } from 'yaoki/sim'
import { STRATEGIES } from '../../../src/sim/balancer/strategy.ts'
import { api, every, setup, web } from '../setup.ts'

const requestsOf = (model: Partial<ServerModel>, everyMs = 10, count = 400) =>
	api(simulate(setup({ api: model, web: { arrivals: every(everyMs, count) } }))).instances?.map(
		({ requests }) => requests,
	)

describe('requests per instance', () => {
	test('are equal with round-robin, the default', () => {
		expect(requestsOf({ instances: 4 })).toEqual([100, 100, 100, 100])
		expect(requestsOf({ instances: 4, loadBalancer: { strategy: 'round-robin' } })).toEqual([
			100, 100, 100, 100,
		])
	})

	test('are equal with least-requests if all are idle', () => {
		expect(requestsOf({ instances: 4, loadBalancer: { strategy: 'least-requests' } })).toEqual([
			100, 100, 100, 100,
		])
	})

	test('are random, and the same for the same seed', () => {
		const random = requestsOf({ instances: 4, loadBalancer: { strategy: 'random' } })
		expect(random).not.toEqual([100, 100, 100, 100])
		expect(random).toEqual(requestsOf({ instances: 4, loadBalancer: { strategy: 'random' } }))
	})

	test.each(['least-requests', 'two-choices'] as const)(
		'are fewer for a slow instance with %s',
		(strategy) => {
			const slow = { kind: 'slowdown', factor: 20, fromMs: 0, toMs: 1e6, instances: 1 } as const
			const [first = 0, second = 0] =
				requestsOf(
					{ instances: 4, loadBalancer: { strategy }, serviceTimeMs: 20, faults: [slow] },
					10,
					2_000,
				) ?? []
			expect(first).toBeLessThan(second / 3)
		},
	)

	test('are undefined without a load balancer', () => {
		expect(requestsOf({})).toBeUndefined()
		expect(requestsOf({ loadBalancer: {} })).toEqual([400])
	})
})

test('each instance has its own queue and its own limit', () => {
	const model = { instances: 2, workers: 1, queue: { limit: 1 } }
	const result = simulate(setup({ api: model, web: { arrivals: every(0, 6) } }))
	// Two are being processed, two are queued, two are rejected.
	expect([web(result).good, api(result).rejected]).toEqual([4, 2])
})

test('the capacity is that of all instances', () => {
	const { capacityPerSecond, utilization } = api(
		simulate(
			setup({
				api: { instances: 5, workers: 2 },
				web: { arrivals: every(1, 1_000) },
				rest: { durationMs: 1_000 },
			}),
		),
	)
	expect(capacityPerSecond).toBe(1_000)
	expect(utilization).toBeCloseTo(1, 1)
})

test('least-requests sends more to an instance that fails immediately', () => {
	const broken = { kind: 'outage', mode: 'refuse', fromMs: 0, toMs: 1e6, instances: 1 } as const
	const model = { instances: 4, workers: 5, serviceTimeMs: 30, faults: [broken] }
	const [failing = 0, working = 0] =
		requestsOf({ ...model, loadBalancer: { strategy: 'least-requests' } }, 2, 2_000) ?? []
	expect(failing).toBeGreaterThan(2 * working)
})

test('two choices are two different instances', () => {
	let draw = 0
	// The largest draws: without the shift both choices would be the last instance.
	const choose = STRATEGIES['two-choices'](() => [0.99, 0.99][draw++ % 2] ?? 0)
	const [idle, busy] = [{ outstanding: 0 }, { outstanding: 5 }]
	expect(choose([idle, busy])).toBe(idle)
	expect(choose([busy])).toBe(busy)
})
