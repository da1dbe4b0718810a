import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, InvalidOptionError, retry } from 'yaoki'
import { applyChanges, expectResilience, replicate, type Scenario, simulate, tune } from 'yaoki/sim'
import { findViolations } from '../../../src/sim/tune/constraints.ts'
import { chain, storm, stormOptions } from './storm.ts'

/** A service that stays overloaded after a short slowdown, because of retries. */
const metastable: Scenario = {
	durationMs: 30_000,
	until: 'recovered',
	services: {
		api: {
			workers: 5,
			serviceTimeMs: { kind: 'exponential', meanMs: 100 },
			faults: [{ kind: 'slowdown', factor: 10, fromMs: 3_000, toMs: 6_000 }],
		},
	},
	clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 30 }, policy: 'client' } },
	policies: {
		client: [
			{ retry: { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 2_000, jitterStrategy: 'none' } },
			{ timeoutMs: 1_000 },
		],
	},
}
const constraints = { recoveredAfterMs: { atMost: 15_000 }, amplification: { atMost: 1.6 } }

describe('the smallest change that survives', () => {
	const tuned = tune('client', metastable, { constraints, replications: 3 })

	it('is found for a policy that does not survive', () => {
		expect(tuned.before.neverRecoveredShare).toBe(1)
		expect(tuned.survives).toBe(true)
		expect(tuned.after?.neverRecoveredShare).toBe(0)
	})

	it('lists the changes with old and new values', () => {
		expect(tuned.changes.length).toBeGreaterThan(0)
		for (const change of tuned.changes)
			expect(change).toMatchObject({ path: expect.stringMatching(/^client\[/), to: expect.anything() })
	})

	it('survives in the scenario, with every seed', () => {
		const again = replicate({ ...metastable, policies: { client: tuned.policy } }, { replications: 3 })
		expectResilience(again).toRecoverWithin(15_000).measure('amplification', '<=', 1.6)
		expect(again.runs.map((run) => run.traceHash)).toEqual(tuned.after?.runs.map((run) => run.traceHash))
	})

	it('comes with evidence: every smaller change violates a constraint in a run with a known seed', () => {
		const chosen = tuned.steps.find(({ changes }) => changes === tuned.changes)
		const smaller = tuned.steps.filter(({ size }) => size < (chosen?.size ?? 0))
		expect(smaller.length).toBeGreaterThan(5)
		for (const { changes, violation, runs } of smaller) {
			// The runs have the seeds 1, 2, 3, and the last one has the violation.
			expect(violation).toMatchObject({ seed: runs })
			const policies = applyChanges(metastable.policies, changes)
			const run = simulate({ ...metastable, until: undefined, policies, seed: runs })
			expect(findViolations(constraints, run)[0]).toEqual(violation)
		}
	})

	it('comes with the best single change by the objective, which may be larger', () => {
		const { bestSingle, considered, changes, steps } = tuned
		expect(bestSingle?.violation).toBe(undefined)
		expect(bestSingle?.after.runs).toHaveLength(3)
		const singles = steps.filter((one) => one.changes.length === 1)
		// Every single change was tried, also those that are larger than the smallest that survives.
		const values = considered.flatMap(({ path, to }) => to.map((value) => ({ path, to: value })))
		expect(values.length).toBeGreaterThan(10)
		const keysOf = (list: readonly { path: string; to: unknown }[]) =>
			list.map(({ path, to }) => JSON.stringify([path, to])).sort()
		expect(keysOf(singles.flatMap((one) => one.changes))).toEqual(keysOf(values))
		const score = (one: typeof changes) =>
			replicate({ ...metastable, policies: applyChanges(metastable.policies, one) }, { replications: 3 })
				.measures.goodShare.mean
		const best = Math.max(...singles.filter(({ violation }) => !violation).map((one) => score(one.changes)))
		expect(bestSingle?.after.measures.goodShare.mean).toBe(best)
	})

	it('is no change if the policy survives unchanged', () => {
		const calm = tune(
			'client',
			{ ...metastable, services: { api: { workers: 5, serviceTimeMs: 100 } } },
			{
				constraints: { goodShare: { atLeast: 0.5 } },
				replications: 2,
			},
		)
		expect(calm).toMatchObject({ survives: true, changes: [], steps: [] })
	})

	it('is none if nothing survives, and the policy is unchanged', () => {
		const hopeless = tune('client', metastable, {
			constraints: { goodShare: { atLeast: 1 } },
			replications: 1,
			maxSteps: 3,
		})
		expect(hopeless).toMatchObject({
			survives: false,
			changes: [],
			policy: metastable.policies?.['client'],
			after: undefined,
		})
		expect(hopeless.steps).toHaveLength(3)
	})

	it('is the best by the objective among changes of the same size', () => {
		const best = (objective: 'goodShare' | 'amplification') =>
			tune('client', storm, { ...stormOptions, objective }).changes.map(({ to }) => to)
		expect(best('amplification')).toEqual(['full', 2])
		expect(best('goodShare')).toEqual(['equal', 2])
	})

	it('may be in two policies, and a policy that is named twice is searched once', () => {
		const options = { constraints: { amplification: { atMost: 0.5 } }, replications: 1, maxSteps: 80 }
		const both = tune(['toWeb', 'toDb'], chain, options)
		expect(Object.keys(both.policies)).toEqual(['toWeb', 'toDb'])
		expect(both.policy).toEqual(both.policies['toWeb'])
		const pairs = both.steps.filter(({ changes }) => changes.length === 2)
		expect(pairs.some(({ changes: [one, two] }) => one?.policy !== two?.policy)).toBe(true)
		expect(tune(['toWeb', 'toDb', 'toWeb'], chain, options)).toEqual(both)
	})

	it('calls onStep for every policy', () => {
		const counts: number[] = []
		tune('client', metastable, {
			constraints: { goodShare: { atLeast: 1 } },
			replications: 1,
			maxSteps: 3,
			onStep: (_, count) => counts.push(count),
		})
		expect(counts).toEqual([1, 2, 3])
	})
})

describe('an invalid search', () => {
	const bad: readonly (readonly [string, () => unknown])[] = [
		['at least one limit', () => tune('client', metastable, { constraints: {} })],
		["'goodShare' or", () => tune('client', metastable, { constraints: { speed: { atMost: 1 } } as never })],
		[
			'constraints.goodShare.under',
			() => tune('client', metastable, { constraints: { goodShare: { under: 1 } as never } }),
		],
		[
			'an object with atMost, atLeast, below or above',
			() => tune('client', metastable, { constraints: { goodShare: {} } }),
		],
		['sensitivity', () => tune('client', metastable, { constraints, sensitivity: 1 as never })],
		['objective', () => tune('client', metastable, { constraints, objective: 'speed' as never })],
		['an integer from 1 to 2', () => tune('client', metastable, { constraints, maxChanges: 3 })],
		['goal', () => tune('client', metastable, { constraints, goal: 1 } as never)],
	]
	it.each(bad)('is rejected: %s', (message, search) => {
		expect(search).toThrow(InvalidOptionError)
		expect(search).toThrow(message)
	})

	const badArguments: readonly (readonly [string, () => unknown])[] = [
		['the name of a policy in the scenario: client', () => tune('other', metastable, { constraints })],
		['a non-empty list of names', () => tune([], metastable, { constraints })],
		['a non-empty list of names', () => tune(7 as never, metastable, { constraints })],
		[
			'the name of a policy in the scenario: client',
			() => tune(['client', 'other'], metastable, { constraints }),
		],
		['a non-empty list of scenarios', () => tune('client', [], { constraints })],
		[
			'layers as data',
			() => tune('client', { ...metastable, policies: { client: () => retry() } }, { constraints }),
		],
	]
	it.each(badArguments)('is rejected for an argument: %s', (message, search) => {
		expect(search).toThrow(InvalidArgumentError)
		expect(search).toThrow(message)
	})
})
