import { describe, expect, it } from 'vitest'
import { applyChanges, type Scenario, simulate, type TuneOptions, tune } from 'yaoki/sim'
import type { Search, SearchTask } from '../../../src/sim/tune/search.ts'
import { createSearch } from '../../../src/sim/tune/tune.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { chain } from './storm.ts'

const names = ['toWeb', 'toDb']
const run = (scenario: Scenario, { changes, seed }: SearchTask) =>
	simulate({ ...scenario, seed, policies: applyChanges(scenario.policies, changes) })

/** Drives a search with several workers whose runs end in random order. Returns the number of runs too. */
function drive(workers: number, seed: number, options: TuneOptions) {
	const random = seededRandom(seed)
	const search = createSearch(names, chain, options)
	const inFlight: SearchTask[] = []
	let runs = 0
	for (;;) {
		while (inFlight.length < workers) {
			const task = search.next()
			if (!task) break
			inFlight.push(task)
		}
		const [task] = inFlight.splice(Math.floor(random() * inFlight.length), 1)
		if (!task) break
		runs++
		search.add(task, run(chain, task))
	}
	expect(search.isDone).toBe(true)
	return { runs, result: search.result(), progress: search.progress }
}

const hopeless = { constraints: { goodShare: { atLeast: 1 }, p99Ms: { atMost: 30 } }, maxSteps: 12 }
const possible = { constraints: { goodShare: { atLeast: 0.5 }, amplification: { atMost: 1 } } }

describe('a search by several workers', () => {
	it.each<[string, Partial<TuneOptions> & TuneOptions]>([
		['finds a policy', possible],
		['finds none', hopeless],
		['measures the sensitivity', { ...hopeless, maxChanges: 1, maxSteps: 5, sensitivity: true }],
		['has nothing to change', { constraints: { goodShare: { atLeast: 0.1 } } }],
	])('gives the same result as the search of one run after the other: %s', (_, given) => {
		const options = { ...given, replications: 3 }
		const expected = tune(names, chain, options)
		for (const [workers, seed] of [
			[1, 1],
			[2, 2],
			[9, 3],
		] as const)
			expect(drive(workers, seed, options).result).toEqual(expected)
	})

	it('makes no unnecessary run with one worker', () => {
		const { runs, result } = drive(1, 1, { ...possible, replications: 3 })
		const counted = result.steps.reduce((sum, step) => sum + step.runs, result.before.runs.length)
		expect(runs).toBe(counted)
	})

	it('reaches the total of its progress', () => {
		const { progress } = drive(3, 1, { ...hopeless, replications: 2, sensitivity: true, maxChanges: 1 })
		expect(progress.done).toBe(progress.total)
	})
})

describe('a search that is interrupted', () => {
	const drain = (search: Search, isOver: () => boolean) => {
		for (let task = search.next(); task && !isOver(); task = search.next()) search.add(task, run(chain, task))
	}

	it('has no result of its own before the original policy has run', () => {
		const search = createSearch(names, chain, hopeless)
		expect(search.result()).toMatchObject({ survives: false, changes: [], steps: [], nearest: undefined })
		expect(search.result().before.runs).toEqual([])
		expect(search.progress.done).toBe(0)
	})

	it('has the nearest miss so far', () => {
		const search = createSearch(names, chain, { ...hopeless, replications: 2 })
		drain(search, () => search.result().steps.length >= 5)
		const { nearest, steps } = search.result()
		expect(steps).toHaveLength(5)
		expect(nearest).toMatchObject({ violation: { measure: expect.any(String) }, after: undefined })
	})

	it('ignores results that no longer matter', () => {
		const search = createSearch(names, chain, { ...hopeless, replications: 1 })
		const task = search.next() as SearchTask
		search.add(task, run(chain, task))
		search.add(task, run(chain, task))
		expect(search.result().before.runs).toHaveLength(1)
	})
})
