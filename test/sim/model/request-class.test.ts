import { describe, expect, it } from 'vitest'
import { type Fault, simulate } from 'yaoki/sim'
import { CallMeter } from '../../../src/sim/measure/client-meter.ts'
import { classDraw, Request } from '../../../src/sim/model/request.ts'
import { RequestQueue } from '../../../src/sim/model/request-queue.ts'
import type { RequestClassModel } from '../../../src/sim/scenario/scenario.ts'
import { api, atOnce, every, serviceOf, setup, web } from '../setup.ts'

const CLASSES: Readonly<Record<string, RequestClassModel>> = {
	checkout: { share: 0.25, serviceTimeFactor: 3, priority: 1 },
	browse: { share: 0.75 },
}

const classOf = (result: ReturnType<typeof simulate>, name: string) => {
	const found = web(result).classes?.[name]
	if (!found) throw new Error(`there is no class ${name}`)
	return found
}

describe('the class of a call', () => {
	it('is drawn by its share', () => {
		const result = simulate(
			setup({ web: { arrivals: every(1, 10_000), classes: CLASSES }, api: { workers: 99 } }),
		)
		const { calls } = classOf(result, 'checkout')
		expect(Math.abs(calls - 2_500)).toBeLessThan(5 * Math.sqrt(10_000 * 0.25 * 0.75))
		expect(classOf(result, 'browse').calls).toBe(10_000 - calls)
	})

	it('is drawn although the shares add up to less than 1 by rounding, and never with a share of 0', () => {
		const models = { none: { share: 0 }, a: { share: 1 - 1e-10 }, never: { share: 0 } }
		const draw = classDraw(
			models,
			() => 1 - 1e-12,
			() => new CallMeter(Infinity, 0),
		)
		expect(draw().name).toBe('a')
	})

	it('does not change the arrivals', () => {
		const arrivals = { kind: 'poisson', perSecond: 50 } as const
		const run = (classes?: typeof CLASSES) =>
			simulate(setup({ web: { arrivals, classes }, api: { workers: Infinity }, rest: { durationMs: 5_000 } }))
		expect(run(CLASSES).timeline.clients['web']?.started).toEqual(run().timeline.clients['web']?.started)
	})

	it('is kept by retries', () => {
		const faults: Fault[] = [{ kind: 'errors', rate: 1, class: 'checkout', fromMs: 0, toMs: 1e6 }]
		const result = simulate(
			setup({
				api: { workers: Infinity, serviceTimeMs: 0, faults },
				web: { arrivals: every(1, 1_000), classes: CLASSES },
				policy: [{ retry: { maxRetries: 3, baseDelayMs: 1 } }],
			}),
		)
		expect(classOf(result, 'checkout')).toMatchObject({ good: 0, goodShare: 0 })
		expect(classOf(result, 'browse').goodShare).toBe(1)
		expect(web(result).requests).toBe(1_000 + 3 * classOf(result, 'checkout').calls)
	})

	it('multiplies the service time', () => {
		const result = simulate(
			setup({ web: { arrivals: every(1, 1_000), classes: CLASSES }, api: { workers: Infinity } }),
		)
		expect([classOf(result, 'checkout').latency.maxMs, classOf(result, 'browse').latency.maxMs]).toEqual([
			30, 10,
		])
		expect(classOf(result, 'checkout').latency.meanMs).toBeCloseTo(30, 6)
	})

	it('has its own counts, which add up to those of the client', () => {
		const result = simulate(
			setup({
				api: { queue: { limit: 5 } },
				web: { arrivals: atOnce(20), classes: CLASSES, goodWithinMs: 40 },
			}),
		)
		const both = [classOf(result, 'checkout'), classOf(result, 'browse')]
		for (const name of ['calls', 'good', 'late', 'failed', 'unfinished'] as const)
			expect(both.reduce((sum, one) => sum + one[name], 0)).toBe(web(result)[name])
		expect(web(result)).toMatchObject({ failed: 14 })
		expect(Math.min(web(result).good, web(result).late)).toBeGreaterThan(0)
	})

	it('is not counted in the warm-up', () => {
		const result = simulate(
			setup({
				web: { arrivals: { kind: 'constant', perSecond: 50 }, classes: CLASSES },
				rest: { durationMs: 10_000, warmUpMs: 8_000 },
			}),
		)
		const calls = classOf(result, 'checkout').calls + classOf(result, 'browse').calls
		expect([calls, web(result).calls]).toEqual([100, 100])
		const ended = ['good', 'late', 'failed', 'unfinished'] as const
		for (const name of ended)
			expect(classOf(result, 'checkout')[name] + classOf(result, 'browse')[name]).toBe(web(result)[name])
	})

	it('does not exist without classes', () => {
		expect('classes' in web(simulate(setup()))).toBe(false)
	})
})

describe('errors of a class', () => {
	const errors = (rate: number, name?: string): Fault => ({
		kind: 'errors',
		rate,
		class: name,
		fromMs: 0,
		toMs: 1e6,
	})

	it('leave other classes alone, and add to errors of all classes', () => {
		const result = simulate(
			setup({
				api: { workers: Infinity, serviceTimeMs: 0, faults: [errors(0.5, 'checkout'), errors(0.2)] },
				web: { arrivals: every(1, 10_000), classes: CLASSES },
			}),
		)
		const share = (name: string) => classOf(result, name).failed / classOf(result, name).calls
		expect(Math.abs(share('checkout') - 0.6)).toBeLessThan(0.05)
		expect(Math.abs(share('browse') - 0.2)).toBeLessThan(0.03)
	})

	it('do not concern requests without a class', () => {
		const result = simulate(
			setup({
				api: { faults: [errors(1, 'checkout')] },
				rest: {
					clients: { other: { to: 'api', arrivals: { kind: 'trace', atMs: [500] }, classes: CLASSES } },
				},
			}),
		)
		expect(web(result).good).toBe(1)
	})
})

describe('the priority of a class', () => {
	/** Requests of these priorities, named by their index. */
	const queueOf = (order: 'fifo' | 'lifo', priorities: readonly (number | undefined)[]) => {
		const queue = new RequestQueue(order)
		const requests = priorities.map((priority) => {
			const request = new Request({ passesContext: false, send() {} }, () => {})
			if (priority !== undefined)
				request.requestClass = { name: 'x', serviceTimeFactor: 1, priority, meter: new CallMeter(1, 0) }
			queue.push(request)
			return request
		})
		const taken: number[] = []
		for (let next = queue.take(); next; next = queue.take()) taken.push(requests.indexOf(next))
		expect([queue.length, queue.take()]).toEqual([0, undefined])
		return taken
	}

	it('decides who is served next; without a class it is 0', () => {
		expect(queueOf('fifo', [0, 2, undefined, 2, -1, 1])).toEqual([1, 3, 5, 0, 2, 4])
	})

	it('leaves the order among equals', () => {
		expect(queueOf('lifo', [0, 2, undefined, 2, -1, 1])).toEqual([3, 1, 5, 2, 0, 4])
	})

	it('does not interrupt a request in progress, or make room in a full queue', () => {
		const result = simulate(
			setup({
				api: { serviceTimeMs: 10, queue: { limit: 1 } },
				web: { arrivals: { kind: 'trace', atMs: [0, 1] } },
				rest: {
					clients: {
						urgent: {
							to: 'api',
							arrivals: { kind: 'trace', atMs: [2] },
							classes: { urgent: { share: 1, priority: 9 } },
						},
					},
				},
			}),
		)
		expect(web(result).good).toBe(2)
		expect(result.clients['urgent']).toMatchObject({ failed: 1 })
		expect(api(result).rejected).toBe(1)
	})
})

describe('dependencies', () => {
	const run = (passContext: boolean) =>
		simulate(
			setup({
				api: { serviceTimeMs: 0, workers: Infinity, dependsOn: [{ to: 'db', passContext }] },
				web: { arrivals: every(1, 1_000), classes: CLASSES },
				rest: { services: { db: { serviceTimeMs: 10, workers: Infinity } } },
			}),
		)

	it('get the class of the request with passContext, and only then', () => {
		const checkouts = classOf(run(true), 'checkout').calls
		expect(serviceOf(run(false), 'db').usefulMs).toBe(1_000 * 10)
		expect(serviceOf(run(true), 'db').usefulMs).toBe(1_000 * 10 + checkouts * 20)
	})
})
