import { describe, expect, test } from 'vitest'
import { retry } from 'yaoki'
import { type Scenario, simulate } from 'yaoki/sim'
import { type JobContext, type JobReport, needsTimelines, runJob } from '../../../src/cli/simulate/run-job.ts'
import { MEASURE_NAMES, readMeasure } from '../../../src/sim/measure/measures.ts'
import { pair, small } from './files.ts'

/** A clock that advances by `ms` each time it is read. */
function ticking(ms: number): () => number {
	let now = 0
	return () => {
		now += ms
		return now
	}
}

function reports(
	scenario: Scenario,
	context: Partial<JobContext> = {},
	seeds: readonly number[] = [1, 2, 3],
) {
	const job = { caseIndex: 0, firstRun: 5, seeds }
	const cases = [{ name: 'only', scenario }]
	return [
		...runJob(job, {
			cases,
			maxEvents: undefined,
			keepsTimelines: true,
			triedCases: new Set(),
			now: ticking(0),
			...context,
		}),
	]
}

const runsOf = (all: readonly JobReport[]) => all.flatMap(({ ended }) => ended)

describe('a job', () => {
	test('a job has one report if it is fast', () => {
		const [report, ...more] = reports(small)
		expect(more).toEqual([])
		expect(report?.isLast).toBe(true)
		expect(report?.ended.map(({ runIndex }) => runIndex)).toEqual([5, 6, 7])
	})

	test.each([
		['a duration', small],
		['an end by itself', { ...small, until: 'recovered' } as const],
		[
			'no duration',
			{ ...small, durationMs: undefined, until: ({ nowMs }: { nowMs: number }) => nowMs > 3_000 },
		],
	])('a job has the same result in any slices as in one, with %s', (_, scenario) => {
		const whole = simulate({ ...scenario, seed: 3 })
		for (const pace of [0, 12, 90]) {
			const [run] = runsOf(reports(scenario, { now: ticking(pace) }, [3]))
			expect(run?.result).toEqual(whole)
		}
	})

	test('reports the result so far at intervals', () => {
		const all = reports(small, { now: ticking(30) })
		const currents = all.flatMap(({ current }) => (current ? [current] : []))
		expect(all.map(({ isLast }) => isLast)).toEqual(all.map((report) => report === all.at(-1)))
		expect(currents.length).toBeGreaterThan(2)
		for (const { share, result, runIndex } of currents) {
			expect(share).toBeGreaterThan(0)
			expect(share).toBeLessThan(1)
			expect(result.endedBy).toBe('interrupted')
			expect(result.endedAtMs).toBeCloseTo(share * 2_000)
			expect(result.seed).toBe(runIndex - 4)
		}
		expect(runsOf(all)).toHaveLength(3)
	})

	test('reports rarely if little time passes', () => {
		const often = reports(small, { now: ticking(30) }).length
		expect(reports(small, { now: ticking(1) }).length).toBeLessThan(often)
	})

	test('prefers --max-events over the limit of the file', () => {
		const runs = runsOf(reports({ ...small, maxEvents: 1e6 }, { maxEvents: 20 }))
		expect(runs.map(({ result }) => result.endedBy)).toEqual(['event-limit', 'event-limit', 'event-limit'])
	})
})

describe('a function that throws', () => {
	const throwing = (thrown: unknown): Scenario => ({
		...small,
		until: ({ nowMs }) => {
			if (nowMs > 1_000) throw thrown
			return false
		},
	})

	test('ends the job with its error and its seed', () => {
		const all = reports(throwing(new RangeError('too far')))
		expect(all.at(-1)).toMatchObject({
			ended: [],
			isLast: true,
			failure: { seed: 1, message: 'too far', stack: expect.stringContaining('job.test.ts') },
		})
	})

	test('keeps its code, and can be posted to another thread', () => {
		const odd = Object.assign(new Error('odd'), { code: 'YAOKI_INVALID_OPTION', fn: () => {} })
		const [report] = reports(throwing(odd))
		expect(structuredClone(report)?.failure).toMatchObject({ message: 'odd', code: 'YAOKI_INVALID_OPTION' })
	})

	test.each([
		['a text', 'oops', "threw 'oops'"],
		['nothing', undefined, 'threw undefined'],
		['an error without a message', new TypeError(), 'TypeError'],
	])('can throw %s', (_, thrown, message) => {
		expect(reports(throwing(thrown)).at(-1)?.failure?.message).toBe(message)
	})

	test.each([[[1]], [[1, 2, 3]], [[3]]])(
		'a function that throws is rejected with the first seed of %j if it returns the same policy in every run',
		(seeds) => {
			const shared = retry({})
			const all = reports({ ...small, policies: { careful: () => shared } }, {}, seeds)
			expect(all).toMatchObject([
				{
					ended: [],
					isLast: true,
					failure: { seed: seeds[0], code: 'YAOKI_INVALID_OPTION' },
				},
			])
		},
	)

	test('a function that throws is called once more before the first run of a case in a thread', () => {
		const made: number[] = []
		const triedCases = new Set<number>()
		const counting: Scenario = {
			...small,
			policies: { careful: () => retry({ name: `r${made.push(1)}` }) },
		}
		reports(counting, { triedCases }, [1, 2])
		reports(counting, { triedCases }, [3])
		expect(made).toHaveLength(1 + 3)
	})

	test('keeps runs that ended before', () => {
		const picky: Scenario = {
			...small,
			policies: {
				careful: ({ runtime }) => {
					throw new Error(`failed at ${runtime.now()}`)
				},
			},
		}
		expect(reports(picky).at(-1)).toMatchObject({ failure: { message: 'failed at 0', seed: 1 } })
	})
})

describe('timelines', () => {
	test('timelines are left out for grids and curves, except for the first run, without a change of any measure', () => {
		const [complete, reduced] = [true, false].map((keepsTimelines) =>
			runsOf(reports(small, { keepsTimelines })),
		)
		expect(complete?.length).toBe(3)
		for (const [index, run] of (reduced ?? []).entries()) {
			const other = complete?.[index]
			if (!other) expect.unreachable('both have the same runs')
			for (const name of MEASURE_NAMES)
				expect(readMeasure(name, run.result), name).toBe(readMeasure(name, other.result))
			expect(other.result.timeline.clients['web']?.started.length).toBeGreaterThan(10)
			const steps = run.result.timeline.clients['web']?.started
			expect(steps).toEqual(run.runIndex === 0 ? other.result.timeline.clients['web']?.started : [])
		}
	})

	test('timelines are needed for charts over time', () => {
		const grid = {
			title: '',
			description: '',
			panels: ['a'],
			at: () => small,
			x: { label: '', values: [1] },
			y: { label: '', values: [1] },
		}
		const curves = { xLabel: '', measures: ['requests'] as const, points: {} }
		expect([pair, grid, { ...pair, curves }].map(needsTimelines)).toEqual([true, false, false])
	})
})
