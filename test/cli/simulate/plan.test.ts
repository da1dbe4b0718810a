import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { jobsOf, type Plan, planOf, runsIn } from '../../../src/cli/simulate/plan.ts'
import { pair, small } from './files.ts'

const question = { source: { kind: 'file', file: 'a.json' }, variants: [] } as const
const nothing = { seed: undefined, replications: undefined, maxEvents: undefined }

describe('the seeds of a plan', () => {
	test('are as many as the study says, from the first that its scenarios have', () => {
		const study = { ...pair, variants: { a: small, b: { ...small, seed: 7 }, c: { ...small, seed: 'x' } } }
		expect(planOf(study, question, nothing).seeds).toEqual([
			[1, 2, 3],
			[7, 8, 9],
			['x 0', 'x 1', 'x 2'],
		])
	})

	test('are ten where nobody says how many', () => {
		const study = { ...pair, replications: undefined }
		expect(planOf(study, question, nothing).seeds.map(({ length }) => length)).toEqual([10, 10])
	})

	test('are those of the command line where it names them', () => {
		const plan = planOf(pair, question, { ...nothing, seed: 40, replications: 2 })
		expect(plan.seeds).toEqual([
			[40, 41],
			[40, 41],
		])
	})

	test.each([[40], ['x 1'], [-1.5]])('are just %j for a single run, which repeats one of many', (seed) => {
		expect(planOf(pair, question, { ...nothing, seed, replications: 1 }).seeds).toEqual([[seed], [seed]])
	})
})

const plans: fc.Arbitrary<Plan> = fc.array(fc.nat(200), { maxLength: 12 }).map((counts) => ({
	question,
	maxEvents: undefined,
	seeds: counts.map((count) => Array.from({ length: count }, (_, index) => index)),
}))

describe('jobs', () => {
	test('hold every run once, in order, and none is of two cases', () => {
		fc.assert(
			fc.property(plans, fc.integer({ min: 1, max: 16 }), (plan, threads) => {
				const found = plan.seeds.map((): (number | string)[] => [])
				for (const { index, from, seeds } of jobsOf(plan, threads)) {
					expect(from).toBe(found[index]?.length)
					expect(seeds.length).toBeGreaterThan(0)
					found[index]?.push(...seeds)
				}
				expect(found).toEqual(plan.seeds)
			}),
		)
	})

	test('get smaller towards the end, so that no thread is left with a heap', () => {
		const seeds = Array.from({ length: 500 }, (_, index) => index)
		const sizes = [...jobsOf({ question, maxEvents: undefined, seeds: [seeds, seeds] }, 2)].map(
			(job) => job.seeds.length,
		)
		expect(sizes[0]).toBe(32)
		expect(sizes.slice(-16)).toEqual(Array.from({ length: 16 }, () => 1))
	})

	test('are single runs where there are few', () => {
		const plan = planOf(pair, question, nothing)
		expect(runsIn(plan)).toBe(6)
		expect([...jobsOf(plan, 2)].map((job) => job.seeds)).toEqual([[1], [2], [3], [1], [2], [3]])
	})
})
