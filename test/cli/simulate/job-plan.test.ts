import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countRuns, type JobPlan, planJobs, splitJobs } from '../../../src/cli/simulate/job-plan.ts'
import { pair, small } from './files.ts'

const request = { source: { kind: 'file', file: 'a.json' }, variants: [] } as const
const defaults = { seed: undefined, replications: undefined, maxEvents: undefined }

describe('the seeds of a plan', () => {
	test('start at the seed of each scenario, as many as the study has replications', () => {
		const study = { ...pair, variants: { a: small, b: { ...small, seed: 7 }, c: { ...small, seed: 'x' } } }
		expect(planJobs(study, request, defaults).seeds).toEqual([
			[1, 2, 3],
			[7, 8, 9],
			['x 0', 'x 1', 'x 2'],
		])
	})

	test('the seeds of a plan are ten by default', () => {
		const study = { ...pair, replications: undefined }
		expect(planJobs(study, request, defaults).seeds.map(({ length }) => length)).toEqual([10, 10])
	})

	test('the seeds of a plan are those of the command line', () => {
		const plan = planJobs(pair, request, { ...defaults, seed: 40, replications: 2 })
		expect(plan.seeds).toEqual([
			[40, 41],
			[40, 41],
		])
	})

	test.each([[40], ['x 1'], [-1.5]])('the seeds of a plan are exactly %j for a single run', (seed) => {
		expect(planJobs(pair, request, { ...defaults, seed, replications: 1 }).seeds).toEqual([[seed], [seed]])
	})
})

const plans: fc.Arbitrary<JobPlan> = fc.array(fc.nat(200), { maxLength: 12 }).map((counts) => ({
	request,
	maxEvents: undefined,
	allTimelines: false,
	seeds: counts.map((count) => Array.from({ length: count }, (_, index) => index)),
}))

describe('jobs', () => {
	test('contain every run once, in order, and only one case each', () => {
		fc.assert(
			fc.property(plans, fc.integer({ min: 1, max: 16 }), (plan, threads) => {
				const found = plan.seeds.map((): (number | string)[] => [])
				for (const { caseIndex, firstRun, seeds } of splitJobs(plan, threads)) {
					expect(firstRun).toBe(found[caseIndex]?.length)
					expect(seeds.length).toBeGreaterThan(0)
					found[caseIndex]?.push(...seeds)
				}
				expect(found).toEqual(plan.seeds)
			}),
		)
	})

	test('get smaller towards the end', () => {
		const seeds = Array.from({ length: 500 }, (_, index) => index)
		const sizes = [
			...splitJobs({ request, maxEvents: undefined, allTimelines: false, seeds: [seeds, seeds] }, 2),
		].map((job) => job.seeds.length)
		expect(sizes[0]).toBe(32)
		expect(sizes.slice(-16)).toEqual(Array.from({ length: 16 }, () => 1))
	})

	test('jobs are single runs for small studies', () => {
		const plan = planJobs(pair, request, defaults)
		expect(countRuns(plan)).toBe(6)
		expect([...splitJobs(plan, 2)].map((job) => job.seeds)).toEqual([[1], [2], [3], [1], [2], [3]])
	})
})
