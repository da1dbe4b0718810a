import { describe, expect, it } from 'vitest'
import { type Fault, type Scenario, type SimulationResult, simulate } from 'yaoki/sim'
import { MEASURE_NAMES, MEASURES, readMeasure } from '../../../src/sim/measure/measures.ts'
import { clientOf, every, setup, sum } from '../setup.ts'

const dead: Fault = { kind: 'outage', fromMs: 0, toMs: 1e6 }
const hung: Fault = { ...dead, mode: 'hang' }

/** Two clients: `web` calls a service of 10 ms every 20 ms, `jobs` one that fails half of the time. */
const mixed: Scenario = {
	durationMs: 10_000,
	services: {
		api: { serviceTimeMs: 10 },
		shaky: { serviceTimeMs: 5, workers: 4, faults: [{ kind: 'errors', rate: 0.5, fromMs: 0, toMs: 1e5 }] },
	},
	clients: {
		web: { to: 'api', arrivals: { kind: 'constant', perSecond: 50 }, goodWithinMs: 100 },
		jobs: { to: 'shaky', arrivals: { kind: 'constant', perSecond: 20 }, policy: 'job' },
	},
	policies: { job: [{ retry: { maxRetries: 1, baseDelayMs: 5, jitterStrategy: 'none' } }] },
}

describe('totals', () => {
	const result = simulate(mixed)
	const { totals, clients, services } = result
	const all = Object.values(clients)

	it('are the sums of all clients', () => {
		const good = sum(all.map((client) => client.good))
		expect(totals.offeredPerSecond).toBe(70)
		expect(totals.goodputPerSecond).toBeCloseTo(good / 10, 12)
		expect(totals.goodShare).toBeCloseTo(good / 700, 12)
		expect(totals.retries).toBe(clientOf(result, 'jobs').retries)
	})

	it('count retries between services too, and those of clients apart', () => {
		const retry = { baseDelayMs: 5, growth: 'constant', jitterStrategy: 'none' } as const
		const nested = simulate({
			until: 'idle',
			services: {
				shop: { serviceTimeMs: 1, dependsOn: [{ to: 'db', policy: 'toDb' }] },
				db: { serviceTimeMs: 1, faults: [dead] },
			},
			clients: { web: { to: 'shop', arrivals: every(100, 10), policy: 'web' } },
			policies: {
				web: [{ retry: { maxRetries: 1, ...retry } }],
				toDb: [{ retry: { maxRetries: 2, ...retry } }],
			},
		})
		// Each of 10 calls is tried twice, and the shop tries each of these three times.
		expect(clientOf(nested, 'web').retries).toBe(10)
		expect([nested.services['shop']?.retries, nested.services['db']?.retries]).toEqual([40, 0])
		expect(nested.totals.retries).toBe(50)
		expect(readMeasure('retries', nested)).toBe(50)
	})

	it('have the latency of successful calls only', () => {
		const ok = sum(all.map(({ good, late }) => good + late))
		const whole = sum(all.map(({ latency, good, late }) => latency.meanMs * (good + late)))
		expect(totals.latency.meanMs).toBeCloseTo(whole / ok, 9)
		expect(totals.latency.maxMs).toBe(15)
	})

	it('have the amplification of the service with the most requests per call', () => {
		const [api, shaky] = [services['api'], services['shaky']]
		expect(api?.amplification).toBe(1)
		expect(totals.amplification).toBe(shaky?.amplification)
		expect(totals.amplification).toBeGreaterThan(1.4)
	})

	it('have the share of wasted work', () => {
		const [used, lost] = [
			sum(Object.values(services).map(({ usefulMs }) => usefulMs)),
			sum(Object.values(services).map(({ wastedMs }) => wastedMs)),
		]
		expect(totals.wastedShare).toBeCloseTo(lost / (used + lost), 12)
	})

	it('have the time when the last call ended', () => {
		expect(totals.lastResponseAtMs).toBe(9_990)
	})

	it('do not count late calls as good', () => {
		const late = simulate(setup({ web: { arrivals: every(0, 4), goodWithinMs: 25 } }))
		expect(clientOf(late, 'web')).toMatchObject({ good: 2, late: 2, failed: 0 })
		expect(late.totals.goodShare).toBe(0.5)
	})

	it('do not count hanging calls as good', () => {
		const hanging = simulate(setup({ api: { faults: [hung] }, web: { arrivals: every(1, 10) } }))
		expect(hanging.totals.goodShare).toBe(0)
	})

	it('are zeros if nothing happens', () => {
		const empty = simulate(setup({ web: { arrivals: { kind: 'trace', atMs: [] } } }))
		expect(empty.totals).toMatchObject({
			offeredPerSecond: 0,
			goodShare: 0,
			amplification: 0,
			wastedShare: 0,
		})
		expect(JSON.stringify(empty)).not.toMatch(/NaN|Infinity/)
	})
})

describe('measures', () => {
	const figures = (result: SimulationResult) =>
		Object.fromEntries(MEASURE_NAMES.map((name) => [name, readMeasure(name, result)]))

	it('are read from a result by name', () => {
		const result = simulate(mixed)
		expect(figures(result)).toMatchObject({
			goodShare: result.totals.goodShare,
			offeredPerSecond: 70,
			requests: sum(Object.values(result.services).map(({ requests }) => requests)),
			p99Ms: result.totals.latency.p99Ms,
			recoveredAfterMs: null,
		})
	})

	it('have a label, a unit and a direction', () => {
		for (const { label, unit, better } of Object.values(MEASURES)) {
			expect(label).not.toBe('')
			expect(['', '%', 'ms', '/s']).toContain(unit)
			expect(['more', 'less']).toContain(better)
		}
	})

	it('include the peak of the busiest step of the busiest service, as a rate', () => {
		const burst = setup({
			web: { arrivals: { kind: 'trace', atMs: [0, 500, 510, 520, 900] } },
			rest: { durationMs: 1_000, stepMs: 100 },
		})
		expect(figures(simulate(burst))['peakPerSecond']).toBe(30)
	})

	it('have no latency if no call succeeded', () => {
		const failed = simulate(setup({ api: { faults: [dead] } }))
		expect(figures(failed)).toMatchObject({ p50Ms: null, p99Ms: null, lastResponseAtMs: 0 })
	})

	it('have no last response if no call ended', () => {
		expect(figures(simulate(setup({ api: { faults: [hung] } })))).toMatchObject({ lastResponseAtMs: null })
	})

	it('have the age of the oldest queue', () => {
		const waiting = simulate(setup({ web: { arrivals: every(0, 3) } }))
		expect(figures(waiting)['queueAgeP99Ms']).toBeCloseTo(20, 0)
	})
})
