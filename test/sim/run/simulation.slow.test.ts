import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Scenario, Simulation, simulate } from 'yaoki/sim'
import type { SimulationProgress } from '../../../src/sim/scenario/scenario.ts'
import { api, every, setup, sum, web } from '../setup.ts'

const steady = { arrivals: { kind: 'constant', perSecond: 100 } } as const
const outage = { kind: 'outage', fromMs: 1_000, toMs: 2_000 } as const

describe('a run', () => {
	it('lasts for its duration, without events at exactly that time', () => {
		const result = simulate(setup({ web: steady, rest: { durationMs: 1_000 } }))
		expect(result).toMatchObject({ endedAtMs: 1_000, endedBy: 'duration' })
		expect(web(result)).toMatchObject({ calls: 100, good: 99, unfinished: 1 })
	})

	it('lasts for its duration even if nothing is left to do', () => {
		expect(simulate(setup({ rest: { durationMs: 1_000 } }))).toMatchObject({
			endedAtMs: 1_000,
			endedBy: 'duration',
		})
	})

	it('ends with its last event, until idle', () => {
		const result = simulate(setup({ web: { arrivals: every(10, 5) }, api: { serviceTimeMs: 7 } }))
		expect(result).toMatchObject({ endedAtMs: 47, endedBy: 'idle' })
		expect(simulate(setup({ rest: { durationMs: 30, until: 'idle' } }))).toMatchObject({
			endedAtMs: 10,
			endedBy: 'idle',
		})
		expect(simulate(setup({ rest: { durationMs: 5, until: 'idle' } }))).toMatchObject({
			endedAtMs: 5,
			endedBy: 'duration',
		})
	})

	it('is not prolonged by cancelled timeouts', () => {
		const layers = [
			{ timeoutMs: 60_000 },
			{ circuitBreaker: {} },
			{ hedge: { delayMs: 5_000 } },
			{ bulkhead: {} },
		]
		expect(simulate(setup({ policy: layers })).endedAtMs).toBe(10)
	})

	it('ends at the step that shows a recovery, until recovered', () => {
		const result = simulate(
			setup({
				api: { faults: [outage] },
				web: steady,
				rest: { durationMs: 60_000, until: 'recovered', stepMs: 1_000 },
			}),
		)
		expect(result).toMatchObject({
			endedAtMs: 7_000,
			endedBy: 'recovered',
			recovery: { recoveredAfterMs: 10 },
		})
	})

	it('ends at its duration if it never recovers, until recovered', () => {
		const rest = { durationMs: 20_000, until: 'recovered' } as const
		const hung = simulate(setup({ api: { faults: [{ ...outage, mode: 'hang' }] }, web: steady, rest }))
		expect(hung).toMatchObject({
			endedAtMs: 20_000,
			endedBy: 'duration',
			recovery: { recoveredAfterMs: null },
		})
		expect(simulate(setup({ web: steady, rest }))).toMatchObject({ endedBy: 'duration', recovery: null })
	})

	it('calls the function of until once per step, with the progress', () => {
		const seen: SimulationProgress[] = []
		const result = simulate(
			setup({
				web: steady,
				rest: {
					stepMs: 100,
					until: (progress) => {
						seen.push(progress)
						return progress.good >= 45
					},
				},
			}),
		)
		expect(result).toMatchObject({ endedAtMs: 500, endedBy: 'until' })
		expect(seen.map(({ nowMs, calls, requests }) => [nowMs, calls, requests])).toEqual(
			[1, 2, 3, 4, 5].map((step) => [step * 100, step * 10, step * 10]),
		)
		expect(seen.at(-1)).toMatchObject({ good: 49, failed: 0 })
	})

	it('ends when nothing is left to do if the function of until never returns true', () => {
		expect(simulate(setup({ rest: { until: () => false } }))).toMatchObject({
			endedAtMs: 10,
			endedBy: 'idle',
		})
	})

	it('evaluates until with any step length, and ends', () => {
		// With these, a time divided by the step and multiplied again is earlier.
		for (const stepMs of [9.449636692036046, 7.570293637727071, 9.052771977855222, 1.1]) {
			let asked = 0
			const until = () => {
				asked++
				return false
			}
			expect(simulate(setup({ web: steady, rest: { durationMs: 2_000, stepMs, until } })).endedBy).toBe(
				'duration',
			)
			expect(asked).toBeGreaterThan(100)
			expect(asked).toBeLessThan(2_000)
		}
	})

	it('throws the error of a user function', () => {
		const until = () => {
			throw new RangeError('my own')
		}
		expect(() => simulate(setup({ web: steady, rest: { until } }))).toThrow(new RangeError('my own'))
	})

	it('does not modify its scenario', () => {
		const freeze = (value: object): object => {
			for (const one of Object.values(value)) if (typeof one === 'object' && one !== null) freeze(one)
			return Object.freeze(value)
		}
		const scenario = setup({
			api: { faults: [outage] },
			web: steady,
			policy: [{ retry: {} }],
			rest: { durationMs: 3_000 },
		})
		const copy = structuredClone(scenario)
		freeze(scenario)
		expect(simulate(scenario)).toEqual(simulate(copy))
		expect(scenario).toEqual(copy)
	})

	it('returns plain data that survives JSON', () => {
		const result = simulate(setup({ api: { faults: [outage] }, web: steady, rest: { durationMs: 10_000 } }))
		expect(JSON.parse(JSON.stringify(result))).toEqual(result)
	})

	it('has timeline lists of equal length that add up to its counts', () => {
		const result = simulate(
			setup({
				api: { faults: [outage], queue: { limit: 3 } },
				web: steady,
				policy: [{ retry: { baseDelayMs: 100 } }],
				rest: { durationMs: 12_345 },
			}),
		)
		const { stepMs, clients, services } = result.timeline
		const lists = [...Object.values(clients), ...Object.values(services)].flatMap((one): number[][] =>
			Object.values(one),
		)
		expect(new Set(lists.map(({ length }) => length))).toEqual(new Set([Math.ceil(12_345 / stepMs)]))
		expect(sum(clients['web']?.started ?? [])).toBe(web(result).calls)
		expect(sum(services['api']?.requests ?? [])).toBe(api(result).requests)
	})
})

describe('a simulation that is advanced in slices', () => {
	const faulty: Scenario = setup({
		api: { workers: 4, serviceTimeMs: { kind: 'exponential', meanMs: 30 }, faults: [outage] },
		web: { arrivals: { kind: 'poisson', perSecond: 80 } },
		policy: [{ retry: { baseDelayMs: 50, maxRetries: 5 } }, { timeoutMs: 200 }],
		rest: { durationMs: 6_000 },
	})
	const variants: readonly Scenario[] = [
		faulty,
		{ ...faulty, durationMs: 30_000, until: 'recovered', stepMs: 250 },
		{ ...faulty, until: ({ good }) => good >= 100, stepMs: 77 },
		{ ...faulty, maxEvents: 500 },
		setup({ web: { arrivals: every(13, 50) }, policy: [{ retry: {} }], api: { faults: [outage] } }),
	]

	it('gives the same bytes as in one go', () => {
		const slices = fc.array(fc.double({ min: 0, max: 900, noNaN: true }), { minLength: 1, maxLength: 12 })
		const expected = variants.map((scenario) => [scenario, JSON.stringify(simulate(scenario))] as const)
		fc.assert(
			fc.property(fc.constantFrom(...expected), slices, fc.boolean(), ([scenario, whole], widths, looks) => {
				const simulation = new Simulation(scenario)
				let time = 0
				for (const width of widths) {
					time += width
					simulation.advance(time)
					if (looks) JSON.stringify(simulation.result())
				}
				simulation.advance()
				expect(JSON.stringify(simulation.result())).toBe(whole)
			}),
			{ numRuns: 60 },
		)
	})

	it('gives the same bytes in slices that end with its steps', () => {
		for (const scenario of variants) {
			const simulation = new Simulation(scenario)
			for (let time = 0; !simulation.advance(time) && time < 40_000; time += scenario.stepMs ?? 100)
				simulation.result()
			expect(JSON.stringify(simulation.result())).toBe(JSON.stringify(simulate(scenario)))
		}
	})

	it('calls its until function once per step', () => {
		const asked: number[] = []
		const until = ({ nowMs }: SimulationProgress) => {
			asked.push(nowMs)
			return nowMs >= 300
		}
		const simulation = new Simulation(setup({ web: steady, rest: { stepMs: 100, until } }))
		for (let time = 7; !simulation.advance(time); time += 7);
		expect(asked).toEqual([100, 200, 300])
	})

	it('reports whether it is over, and its progress', () => {
		const simulation = new Simulation(setup({ web: steady, rest: { durationMs: 1_000 } }))
		expect([simulation.advance(0), simulation.progress.calls]).toEqual([false, 0])
		expect(simulation.advance(500)).toBe(false)
		expect(simulation.progress).toMatchObject({ nowMs: 500, calls: 50, good: 49, requests: 50 })
		expect(simulation.result()).toMatchObject({ endedBy: 'interrupted', endedAtMs: 500 })
		expect(simulation.advance(2_000)).toBe(true)
		expect(simulation.result()).toMatchObject({ endedBy: 'duration', endedAtMs: 1_000 })
		expect(simulation.advance(3_000)).toBe(true)
		expect(simulation.progress.nowMs).toBe(1_000)
	})

	it('is independent of another one that is advanced alternately', () => {
		const [one, other] = [new Simulation(faulty), new Simulation({ ...faulty, seed: 2 })]
		for (let time = 100; !(one.advance(time) && other.advance(time)); time += 100);
		expect(JSON.stringify(one.result())).toBe(JSON.stringify(simulate(faulty)))
		expect(JSON.stringify(other.result())).toBe(JSON.stringify(simulate({ ...faulty, seed: 2 })))
	})
})
