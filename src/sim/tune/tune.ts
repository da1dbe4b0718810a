/**
 * Finds the smallest change to policies that survives a scenario. Changes are tried from the smallest up,
 * alone and in pairs. A candidate is dropped at the first run that violates a constraint, so most cost one
 * run. Hill climbing was rejected: survival has a cliff, not a slope, and it would return settings that
 * cannot be explained.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import { seedsFor } from '../run/replicate.ts'
import { simulate } from '../run/simulation.ts'
import { overEqualTime } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { applyChanges } from './changes.ts'
import { readPolicyNames, readTuneOptions, type TuneOptions } from './options.ts'
import { Search } from './search.ts'
import type { TuneResult } from './tune-result.ts'

/**
 * Searches for the smallest change to one or several policies that satisfies all constraints in every run. A
 * pair of changes may be in two policies. With several scenarios, such as those of an incident, the
 * constraints must hold in each of them.
 *
 * @example
 * const { changes, survives } = tune('client', scenario, {
 *   constraints: { recoveredAfterMs: { atMost: 10_000 }, amplification: { atMost: 1.5 } },
 * })
 */
export function tune(
	policies: string | readonly string[],
	scenarios: Scenario | readonly Scenario[],
	options: TuneOptions,
): TuneResult {
	const search = createSearch(policies, scenarios, options)
	const all = toList(scenarios).map(overEqualTime)
	for (let task = search.next(); task; task = search.next()) {
		const { changes, seed, scenario } = task
		const original = all[scenario]
		if (!original) throw new Error(`there is no scenario ${scenario}`)
		search.add(task, simulate({ ...original, seed, policies: applyChanges(original.policies, changes) }))
	}
	return search.result()
}

/** Returns a search that the caller drives. It starts from the policies of the first scenario. */
export function createSearch(
	policies: string | readonly string[],
	scenarios: Scenario | readonly Scenario[],
	options: TuneOptions,
): Search {
	const all = toList(scenarios)
	const [first] = all
	if (!first) invalidArgument('scenarios', scenarios, 'a scenario, or a non-empty list of scenarios')
	const names = readPolicyNames(policies, first.policies)
	for (const { policies: own } of all) readPolicyNames(names, own)
	const settings = readTuneOptions(options)
	const runs = seedsFor(first, settings.replications).flatMap((seed) =>
		all.map((_, scenario) => ({ scenario, seed })),
	)
	return new Search(names, first.policies ?? {}, settings, runs)
}

const toList = (given: Scenario | readonly Scenario[]): readonly Scenario[] =>
	Array.isArray(given) ? given : [given as Scenario]
