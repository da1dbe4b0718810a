import { describe, expect, it } from 'vitest'
import { type DependencyModel, type ServerModel, simulate } from 'yaoki/sim'
import { every, serviceOf, setup, web } from '../setup.ts'

const failing = { faults: [{ kind: 'errors', rate: 1, fromMs: 0, toMs: 1e6 }] } as const

/** Service times of 10, 20 and 30 ms. */
const SERVICES: Readonly<Record<string, ServerModel>> = {
	a: { serviceTimeMs: 10 },
	b: { serviceTimeMs: 20 },
	c: { serviceTimeMs: 30 },
}

/** The result of one call to a service that needs no time itself. */
const run = (dependsOn: readonly DependencyModel[], services: Readonly<Record<string, ServerModel>> = {}) =>
	simulate(setup({ api: { serviceTimeMs: 0, dependsOn }, rest: { services: { ...SERVICES, ...services } } }))

const parallel = true

describe('parallel dependencies', () => {
	it.each<[DependencyModel[], number]>([
		[[{ to: 'a' }, { to: 'b' }, { to: 'c' }], 60],
		[[{ to: 'a' }, { to: 'b', parallel }, { to: 'c', parallel }], 30],
		[[{ to: 'c' }, { to: 'b', parallel }, { to: 'a', parallel }], 30],
		[[{ to: 'a' }, { to: 'b', parallel }, { to: 'c' }], 50],
		[[{ to: 'a' }, { to: 'b' }, { to: 'c', parallel }], 40],
		[[{ to: 'a' }, { to: 'b', parallel }, { to: 'c' }, { to: 'a', parallel }], 50],
	])('start with the one before, and the slowest counts: %j take %i ms', (dependsOn, ms) => {
		const result = run(dependsOn)
		expect(result.endedAtMs).toBe(ms)
		expect(web(result)).toMatchObject({ good: 1, failed: 0 })
	})

	it('fail with the first failure, while the others go on', () => {
		const result = run([{ to: 'c' }, { to: 'a', parallel }], { a: { serviceTimeMs: 10, ...failing } })
		expect(web(result)).toMatchObject({ failed: 1 })
		expect(result.totals.lastResponseAtMs).toBe(10)
		expect(serviceOf(result, 'c').useful).toBe(1)
	})

	it('fail once if several fail, also at the same time', () => {
		const result = run([{ to: 'a' }, { to: 'b', parallel }, { to: 'c', parallel }, { to: 'd' }], {
			a: { serviceTimeMs: 10, ...failing },
			b: { serviceTimeMs: 10, ...failing },
			c: { serviceTimeMs: 20, ...failing },
			d: { serviceTimeMs: 1 },
		})
		expect(web(result)).toMatchObject({ calls: 1, failed: 1, unfinished: 0 })
		expect(serviceOf(result, 'api')).toMatchObject({ wasted: 1, useful: 0 })
		expect(serviceOf(result, 'd').requests).toBe(0)
	})

	it('all start, also if the first fails immediately', () => {
		const down = { faults: [{ kind: 'outage', fromMs: 0, toMs: 1e6 }] } as const
		const result = run([{ to: 'a' }, { to: 'b', parallel }], { a: { serviceTimeMs: 10, ...down } })
		expect(serviceOf(result, 'b').requests).toBe(1)
		expect(web(result).failed).toBe(1)
	})

	it('may be skipped, alone or all of them', () => {
		expect(
			run([
				{ to: 'c', share: 0 },
				{ to: 'a', parallel },
			]).endedAtMs,
		).toBe(10)
		expect(run([{ to: 'c' }, { to: 'a', parallel, share: 0 }]).endedAtMs).toBe(30)
		expect(run([{ to: 'c', share: 0 }, { to: 'b', parallel, share: 0 }, { to: 'a' }]).endedAtMs).toBe(10)
		expect(web(run([{ to: 'c', share: 0 }])).good).toBe(1)
	})

	it('draw the same numbers as if they were called one after the other', () => {
		const served = (isParallel: boolean) => {
			const result = simulate(
				setup({
					api: {
						serviceTimeMs: 0,
						workers: Infinity,
						dependsOn: [
							{ to: 'a', share: 0.5 },
							{ to: 'b', share: 0.3, parallel: isParallel },
						],
					},
					web: { arrivals: every(100, 200) },
					rest: { services: SERVICES },
				}),
			)
			return [serviceOf(result, 'a').requests, serviceOf(result, 'b').requests]
		}
		expect(served(true)).toEqual(served(false))
	})

	it('each have their own policy', () => {
		const { services } = simulate(
			setup({
				api: {
					serviceTimeMs: 0,
					dependsOn: [
						{ to: 'a', policy: 'again' },
						{ to: 'b', parallel },
					],
				},
				rest: {
					services: { ...SERVICES, a: { serviceTimeMs: 10, ...failing } },
					policies: { again: [{ retry: { maxRetries: 2, baseDelayMs: 1 } }] },
				},
			}),
		)
		expect([services['a']?.requests, services['b']?.requests]).toEqual([3, 1])
	})
})
