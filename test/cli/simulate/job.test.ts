import { describe, expect, test } from 'vitest'
import { retry } from 'yaoki'
import { type Scenario, simulate } from 'yaoki/sim'
import { type JobWorld, needsTimelines, type Report, reportsOf } from '../../../src/cli/simulate/job.ts'
import { MEASURE_NAMES, readMeasure } from '../../../src/sim/measure/measures.ts'
import { pair, small } from './files.ts'

/** A clock that goes on by so much whenever it is looked at. */
function ticking(ms: number): () => number {
	let now = 0
	return () => {
		now += ms
		return now
	}
}

function reports(scenario: Scenario, world: Partial<JobWorld> = {}, seeds: readonly number[] = [1, 2, 3]) {
	const job = { index: 0, from: 5, seeds }
	const cases = [{ name: 'only', scenario }]
	return [
		...reportsOf(job, {
			cases,
			maxEvents: undefined,
			hasTimelines: true,
			tried: new Set(),
			now: ticking(0),
			...world,
		}),
	]
}

const runsOf = (all: readonly Report[]) => all.flatMap(({ ended }) => ended)

describe('a job', () => {
	test('is told in one report when it is quick', () => {
		const [report, ...more] = reports(small)
		expect(more).toEqual([])
		expect(report?.isOver).toBe(true)
		expect(report?.ended.map(({ place }) => place)).toEqual([5, 6, 7])
	})

	test.each([
		['a duration', small],
		['an end by itself', { ...small, until: 'recovered' } as const],
		[
			'no duration',
			{ ...small, duration: undefined, until: ({ nowMs }: { nowMs: number }) => nowMs > 3_000 },
		],
	])('gives what a run in one go gives, in whichever slices it is made, with %s', (_, scenario) => {
		const whole = simulate({ ...scenario, seed: 3 })
		for (const pace of [0, 12, 90]) {
			const [run] = runsOf(reports(scenario, { now: ticking(pace) }, [3]))
			expect(run?.result).toEqual(whole)
		}
	})

	test('tells what is known so far, now and then', () => {
		const all = reports(small, { now: ticking(30) })
		const last = all.at(-1)
		const currents = all.flatMap(({ current }) => (current ? [current] : []))
		expect(last?.isOver).toBe(true)
		expect(all.slice(0, -1).every(({ isOver }) => !isOver)).toBe(true)
		expect(currents.length).toBeGreaterThan(2)
		for (const { share, result, place } of currents) {
			expect(share).toBeGreaterThan(0)
			expect(share).toBeLessThan(1)
			expect(result.endedBy).toBe('interrupted')
			expect(result.endedAtMs).toBeCloseTo(share * 2_000)
			expect(result.seed).toBe(place - 4)
		}
		expect(runsOf(all)).toHaveLength(3)
	})

	test('is not held up by telling: a clock that hardly moves means few reports', () => {
		const often = reports(small, { now: ticking(30) }).length
		expect(reports(small, { now: ticking(1) }).length).toBeLessThan(often)
	})

	test('ends a run at the limit of the command line, which is stronger than the one in the file', () => {
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
			isOver: true,
			failed: { seed: 1, message: 'too far', stack: expect.stringContaining('job.test.ts') },
		})
	})

	test('keeps the code by which errors are told apart, and survives the way to another thread', () => {
		const odd = Object.assign(new Error('odd'), { code: 'YAOKI_INVALID_OPTION', fn: () => {} })
		const [report] = reports(throwing(odd))
		expect(structuredClone(report)?.failed).toMatchObject({ message: 'odd', code: 'YAOKI_INVALID_OPTION' })
	})

	test.each([
		['a text', 'oops', "threw 'oops'"],
		['nothing', undefined, 'threw undefined'],
		['an error without words', new TypeError(), 'TypeError'],
	])('may throw %s', (_, thrown, message) => {
		expect(reports(throwing(thrown)).at(-1)?.failed?.message).toBe(message)
	})

	test.each([[[1]], [[1, 2, 3]], [[3]]])(
		'is refused with the first seed of %j for a policy that is the same in every run',
		(seeds) => {
			const shared = retry({})
			const all = reports({ ...small, policies: { careful: () => shared } }, {}, seeds)
			expect(all).toMatchObject([
				{
					ended: [],
					isOver: true,
					failed: { seed: seeds[0], message: expect.stringContaining('returns a new policy on each call') },
				},
			])
		},
	)

	test('is tried before the first run of a case in a thread, and not before each', () => {
		const made: number[] = []
		const tried = new Set<number>()
		const counting: Scenario = {
			...small,
			policies: { careful: () => retry({ name: `r${made.push(1)}` }) },
		}
		reports(counting, { tried }, [1, 2])
		reports(counting, { tried }, [3])
		expect(made).toHaveLength(1 + 3)
	})

	test('does not take with it what had ended', () => {
		const picky: Scenario = {
			...small,
			policies: {
				careful: ({ runtime }) => {
					throw new Error(`no luck ${runtime.now()}`)
				},
			},
		}
		expect(reports(picky).at(-1)).toMatchObject({ failed: { message: 'no luck 0', seed: 1 } })
	})
})

describe('timelines', () => {
	test('are left out for maps and curves, and every figure stays what it was', () => {
		const [whole, bare] = [true, false].map((hasTimelines) => runsOf(reports(small, { hasTimelines })))
		expect(whole?.length).toBe(3)
		for (const [index, run] of (bare ?? []).entries()) {
			const other = whole?.[index]
			if (!other) expect.unreachable('there are as many')
			for (const name of MEASURE_NAMES)
				expect(readMeasure(name, run.result), name).toBe(readMeasure(name, other.result))
			expect(other.result.timeline.clients['web']?.started.length).toBeGreaterThan(10)
			expect(run.result.timeline.clients['web']?.started).toEqual([])
		}
	})

	test('are needed for what is drawn over time', () => {
		const grid = {
			...{ title: '', description: '', panels: ['a'], at: () => small },
			...{ x: { label: '', values: [1] }, y: { label: '', values: [1] } },
		}
		const curves = { xLabel: '', measures: ['requests'] as const, points: {} }
		expect([pair, grid, { ...pair, curves }].map(needsTimelines)).toEqual([true, false, false])
	})
})
