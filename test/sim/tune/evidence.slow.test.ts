import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
	expectResilience,
	type MeasureName,
	type PolicyLayer,
	ResilienceError,
	replicate,
	type Scenario,
	simulate,
	type TuneChange,
	type TuneResult,
	tune,
} from 'yaoki/sim'
import type { TuneConstraints } from '../../../src/sim/tune/constraints.ts'
import type { TuneStep } from '../../../src/sim/tune/tune-result.ts'
import { chain, storm, stormOptions } from './storm.ts'

type Layers = Record<string, unknown>[]

/** The policies that a step names, built here by assignment, layer by layer: not by the function that the search uses. */
function policiesOf(scenario: Scenario, changes: readonly TuneChange[]): Scenario['policies'] {
	const given = Object.entries(scenario.policies as Readonly<Record<string, readonly PolicyLayer[]>>)
	const original = Object.fromEntries(
		given.map(([name, layers]) => [name, layers.map((layer) => structuredClone(layer))]),
	)
	const copy = Object.fromEntries(Object.entries(original).map(([name, layers]) => [name, [...layers]]))
	for (const { policy, layer, kind, option, isAdded, to } of changes) {
		const layers = copy[policy] as unknown as Layers
		const target = original[policy]?.[layer] as Record<string, unknown> | undefined
		if (isAdded) {
			let index = target ? layers.indexOf(target) : layers.length
			// Before those that were added at the same place, none of which is an original layer.
			while (index > 0 && !original[policy]?.includes(layers[index - 1] as never)) index--
			layers.splice(index, 0, { [kind]: to })
		} else if (!target) throw new Error(`there is no layer ${layer} in ${policy}`)
		else if (option === undefined) target[kind] = to
		else (target[kind] as Record<string, unknown>)[option] = to
	}
	return copy
}

const OPERATORS = { atMost: '<=', atLeast: '>=', below: '<', above: '>' } as const

/** The first violated constraint of a run, by the expectations that users write. */
function violationIn(constraints: TuneConstraints, run: ReturnType<typeof simulate>) {
	for (const [measure, limit] of Object.entries(constraints))
		for (const [name, bound] of Object.entries(limit ?? {}))
			try {
				expectResilience(run).measure(measure as MeasureName, OPERATORS[name as 'atMost'], bound)
			} catch (error) {
				if (!(error instanceof ResilienceError)) throw error
				return { measure, actual: error.actual, seed: error.seed }
			}
	return undefined
}

/** Compares a step with runs of the policies that it names, made by hand. */
function checkStep(
	step: TuneStep,
	scenario: Scenario,
	constraints: TuneConstraints,
	replications: number,
): void {
	const policies = policiesOf(scenario, step.changes)
	const first = Number(scenario.seed ?? 1)
	let runs = 0
	let violation: ReturnType<typeof violationIn>
	while (runs < replications && !violation) {
		violation = violationIn(constraints, simulate({ ...scenario, policies, seed: first + runs }))
		runs++
	}
	const { measure, actual, seed } = step.violation ?? {}
	expect({ runs: step.runs, violation: step.violation && { measure, actual, seed } }).toEqual({
		runs,
		violation,
	})
}

function checkResult(
	result: TuneResult,
	scenario: Scenario,
	constraints: TuneConstraints,
	replications: number,
) {
	for (const step of result.steps) checkStep(step, scenario, constraints, replications)
	expect(result.before).toEqual(replicate(scenario, { replications }))
	const { changes, survives, after, steps } = result
	const policies = policiesOf(scenario, changes)
	for (const [name, layers] of Object.entries(result.policies)) expect(layers).toEqual(policies?.[name])
	if (survives) expect(after).toEqual(replicate({ ...scenario, policies }, { replications }))
	const tried = steps.map((step) => JSON.stringify(policiesOf(scenario, step.changes)))
	expect(new Set([...tried, JSON.stringify(scenario.policies)]).size).toBe(tried.length + 1)
}

describe('two changes to one layer', () => {
	const result = tune('client', storm, stormOptions)

	it('both count: full jitter and 2 retries survive where neither alone does', () => {
		expect(result.survives).toBe(true)
		expect(result.changes.map(({ path, from, to }) => [path, from, to])).toEqual([
			['client[0].retry.jitterStrategy', 'none', 'full'],
			['client[0].retry.maxRetries', 4, 2],
		])
		expect(result.policy).toEqual([
			{ retry: { maxRetries: 2, baseDelayMs: 400, maxDelayMs: 5_000, jitterStrategy: 'full' } },
		])
	})

	it('are what the evidence shows: without retries there is one request per call', () => {
		const { steps } = tune('client', storm, {
			...stormOptions,
			constraints: { amplification: { atMost: 0.5 } },
			replications: 1,
			maxSteps: 25,
		})
		const without = steps.filter(({ changes }) =>
			changes.some(({ option, to }) => option === 'maxRetries' && to === 0),
		)
		expect(without.length).toBeGreaterThan(0)
		for (const { violation } of without) expect(violation?.actual).toBe(1)
	})
})

describe('every step equals runs of the policy that it names', () => {
	it('holds for one policy', () => {
		const result = tune('client', storm, { ...stormOptions, maxSteps: 8, replications: 2 })
		checkResult(result, storm, stormOptions.constraints, 2)
	})

	it('holds for two policies', () => {
		const constraints = { goodShare: { atLeast: 0.99 }, amplification: { below: 1.05 } }
		const result = tune(['toWeb', 'toDb'], chain, { constraints, replications: 2, maxSteps: 70 })
		expect(new Set(result.steps.flatMap(({ changes }) => changes.map(({ policy }) => policy)))).toEqual(
			new Set(['toWeb', 'toDb']),
		)
		checkResult(result, chain, constraints, 2)
	})

	const layers: fc.Arbitrary<readonly PolicyLayer[]> = fc
		.tuple(
			fc.option(
				fc.record(
					{
						maxRetries: fc.nat({ max: 4 }),
						baseDelayMs: fc.constantFrom(0, 1, 40, 90),
						jitterStrategy: fc.constantFrom('none', 'full', 'decorrelated', 'proportional'),
						budget: fc.constant({ maxRetryRatio: 0.1 }),
						growth: fc.constantFrom('exponential', 'constant', [10, 20]),
					},
					{ requiredKeys: [] },
				),
			),
			fc.option(
				fc.constantFrom({}, { failureThreshold: 1 }, { failureThreshold: Infinity, errorRateThreshold: 0.3 }),
			),
			fc.option(
				fc.record(
					{ maxConcurrent: fc.constantFrom(1, 3), maxQueue: fc.constantFrom(0, 1, 5, Infinity) },
					{ requiredKeys: [] },
				),
			),
			fc.option(fc.constantFrom(0.5, 30, 200)),
		)
		.map(
			([backoff, breaker, bulkhead, timeout]) =>
				[
					...(backoff ? [{ retry: { maxDelayMs: 100, baseDelayMs: 20, ...backoff } }] : []),
					...(breaker ? [{ circuitBreaker: breaker }] : []),
					...(bulkhead ? [{ bulkhead }] : []),
					...(timeout === null ? [] : [{ timeoutMs: timeout }]),
				] as unknown as readonly PolicyLayer[],
		)

	it('holds for random policies, whose every option stays valid', () => {
		fc.assert(
			fc.property(layers, layers, fc.nat({ max: 999 }), (toWeb, toDb, seed) => {
				const scenario: Scenario = { ...chain, durationMs: 600, seed, policies: { toWeb, toDb } }
				const constraints = { goodShare: { above: 0.97 }, amplification: { below: 1.6 } }
				const result = tune(['toWeb', 'toDb'], scenario, { constraints, replications: 2, maxSteps: 12 })
				checkResult(result, scenario, constraints, 2)
			}),
			{ seed: 20, numRuns: 8 },
		)
	})
})
