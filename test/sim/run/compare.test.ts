import { describe, expect, it } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import {
	compare,
	type PolicyLayer,
	replicate,
	type Scenario,
	type SimulationResult,
	simulate,
	tune,
} from 'yaoki/sim'
import { MEASURE_NAMES, readMeasure } from '../../../src/sim/measure/measures.ts'
import { mergeRuns } from '../../../src/sim/measure/replications.ts'
import type { RecoveryStatus } from '../../../src/sim/measure/result.ts'
import { seedsFor } from '../../../src/sim/run/replicate.ts'
import { setup } from '../setup.ts'

const busy = (policy: readonly PolicyLayer[], rest: Partial<Scenario> = {}): Scenario =>
	setup({
		api: {
			workers: 4,
			serviceTimeMs: { kind: 'exponential', meanMs: 30 },
			faults: [{ kind: 'outage', fromMs: 500, toMs: 1_500 }],
		},
		web: { arrivals: { kind: 'poisson', perSecond: 60 } },
		policy,
		rest: { durationMs: 9_000, ...rest },
	})
const retrying: readonly PolicyLayer[] = [{ retry: { baseDelayMs: 100 } }]

describe('replications', () => {
	it('run consecutive seeds in order', () => {
		const { runs } = replicate(busy([], { seed: 7 }), { replications: 3 })
		expect(runs.map(({ seed }) => seed)).toEqual([7, 8, 9])
		expect(runs.map(({ traceHash }) => traceHash)).toEqual(
			[7, 8, 9].map((seed) => simulate(busy([], { seed })).traceHash),
		)
	})

	it('number the runs of a string seed, and start with seed 1 by default', () => {
		expect(seedsFor(busy([], { seed: 'night' }), 3)).toEqual(['night 0', 'night 1', 'night 2'])
		expect(seedsFor(busy([]), 2)).toEqual([1, 2])
	})

	it('are ten by default, and onRun is called for each', () => {
		const progress: [number, number][] = []
		const { runs } = replicate(setup(), { onRun: (_result, done, of) => progress.push([done, of]) })
		expect(runs).toHaveLength(10)
		expect(progress).toEqual(Array.from({ length: 10 }, (_, index) => [index + 1, 10]))
	})

	it('estimate each measure over the runs that have it', () => {
		const { runs, measures } = replicate(busy(retrying), { replications: 4 })
		for (const name of MEASURE_NAMES) {
			const values = runs.flatMap((run) => readMeasure(name, run) ?? [])
			expect(measures[name].count).toBe(values.length)
			if (values.length > 0)
				expect(measures[name].mean).toBeCloseTo(values.reduce((sum, one) => sum + one, 0) / values.length, 9)
		}
	})

	it('report the shares of runs that recovered, that did not, and that did not show it', () => {
		const run = (
			status: RecoveryStatus | null,
			recoveredAfterMs: number | null = null,
		): SimulationResult => ({
			...simulate(setup()),
			recovery: status && {
				status,
				faultEndedAtMs: 1,
				healthyAfterMs: null,
				drainedAfterMs: 1,
				recoveredAfterMs,
				heldForMs: null,
				faults: [],
				callsAfter: 1,
			},
		})
		const [good, never, short] = [run('recovered', 500), run('not-recovered'), run('not-shown')]
		const { measures, ...shares } = mergeRuns([good, never, run(null), never, short])
		expect(shares).toMatchObject({ recoveredShare: 0.25, neverRecoveredShare: 0.5, notShownShare: 0.25 })
		expect(measures.recoveredAfterMs).toMatchObject({ count: 1, mean: 500 })
		expect(mergeRuns([run(null)])).toMatchObject({
			recoveredShare: 0,
			neverRecoveredShare: 0,
			notShownShare: 0,
		})
	})

	it.each([0, -1, 1.5, NaN, 1e7, '3'])('reject %s runs', (replications) => {
		expect(() => replicate(setup(), { replications: replications as number })).toThrow(InvalidOptionError)
	})

	it('reject an unknown option', () => {
		expect(() => replicate(setup(), { replication: 3 } as object)).toThrow('Did you mean "replications"?')
	})
})

describe('a comparison', () => {
	it.each([5, null, undefined, [], 'herd'])('rejects %j, which is no scenario', (given) => {
		const error = expect.objectContaining({ argument: 'scenarios[1]', expected: 'an object' })
		expect(() => compare([setup(), given as never])).toThrow(error)
	})

	it('rejects options that are no object', () => {
		const error = expect.objectContaining({ code: 'YAOKI_INVALID_OPTION', optionPath: 'options' })
		expect(() => compare([setup()], 5 as never)).toThrow(error)
	})

	it('computes differences to the first scenario, seed by seed', () => {
		const [none, retried] = compare([busy([]), busy(retrying)], { replications: 5 })
		if (!none || !retried) expect.unreachable()
		const pairs = retried.runs.map(
			(run, index) => run.totals.retries - (none.runs[index]?.totals.retries ?? NaN),
		)
		expect(retried.difference.retries.mean).toBeCloseTo(pairs.reduce((sum, one) => sum + one, 0) / 5, 9)
		expect(none.difference.retries).toMatchObject({ mean: 0, sd: 0, count: 5 })
		expect(retried.runs.map(({ seed }) => seed)).toEqual(none.runs.map(({ seed }) => seed))
	})

	it('shows differences smaller than the noise between seeds', () => {
		const [quick, slow] = compare(
			[10, 10.1].map((latencyMs) => {
				const scenario = busy([])
				return {
					...scenario,
					services: { api: { serviceTimeMs: { kind: 'exponential', meanMs: 30 }, latencyMs } },
				}
			}),
			{ replications: 10 },
		)
		if (!quick || !slow) expect.unreachable()
		const { difference, measures } = slow
		// 0.2 ms in each direction, of a p50 that differs by more than that between seeds.
		expect(difference.p50Ms.high - difference.p50Ms.low).toBeLessThan(
			measures.p50Ms.high - measures.p50Ms.low,
		)
		expect(difference.goodShare.mean).toBeCloseTo(0, 3)
	})

	it('covers the same time with each policy, even until recovered', () => {
		const until = { until: 'recovered', durationMs: 20_000 } as const
		const scenarios = [busy([], until), busy([{ retry: { baseDelayMs: 2_000, maxRetries: 5 } }], until)]
		const ends = scenarios.map((scenario) => simulate(scenario).endedAtMs)
		expect(ends[0]).toBeLessThan(ends[1] ?? 0)
		expect(ends[1]).toBeLessThan(20_000)
		const tuned = tune('web', scenarios[1] as Scenario, {
			constraints: { goodShare: { atLeast: 0 } },
			replications: 2,
		})
		for (const { runs } of [...compare(scenarios, { replications: 2 }), tuned.before])
			expect(runs.map(({ endedAtMs, endedBy }) => [endedAtMs, endedBy])).toEqual([
				[20_000, 'duration'],
				[20_000, 'duration'],
			])
	})

	it('names each scenario by its name or its number', () => {
		const compared = compare([setup(), { ...setup(), name: 'second' }], { replications: 1 })
		expect(compared.map(({ name }) => name)).toEqual(['scenario 1', 'second'])
	})

	it('runs all with the seed that one of them has', () => {
		const compared = compare([setup(), { ...setup(), seed: 40 }], { replications: 2 })
		expect(compared.map(({ runs }) => runs.map(({ seed }) => seed))).toEqual([
			[40, 41],
			[40, 41],
		])
	})

	it('rejects two different seeds', () => {
		const two = [
			{ ...setup(), seed: 1 },
			{ ...setup(), seed: 2 },
		]
		expect(() => compare(two)).toThrow('the same seed in all scenarios, 1')
	})

	it('leaves pairs out of a difference if one has no such measure', () => {
		const [first, second] = compare([busy([]), setup({ rest: { durationMs: 9_000 } })], { replications: 2 })
		expect([first, second].map((one) => one?.difference.recoveredAfterMs.count)).toEqual([2, 0])
		expect(second?.difference.recoveredAfterMs.mean).toBeNaN()
	})

	it('reports which scenario is invalid, and where', () => {
		const wrong = { ...setup(), services: { api: { serviceTimeMs: -1 } } }
		expect(() => compare([setup(), wrong], { replications: 1 })).toThrow(
			'scenarios[1].services.api.serviceTimeMs',
		)
		const policies = { web: () => undefined } as never
		expect(() => compare([setup(), { ...setup({ policy: [] }), policies }])).toThrow(
			'scenarios[1].policies.web()',
		)
	})

	it.each([[[]], [undefined], [{}], ['two']])('rejects %j', (scenarios) => {
		expect(() => compare(scenarios as never)).toThrow('a non-empty list of scenarios')
	})

	it('rejects invalid options by their own names', () => {
		expect(() => compare([setup()], { replications: 0 })).toThrow('an integer from 1 to 1000000')
	})
})
