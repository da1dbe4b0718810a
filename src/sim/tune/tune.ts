/**
 * Finds the smallest change to policies that survives a scenario. Changes are tried from the smallest up, alone and in pairs. A
 * candidate is dropped at the first run that violates a constraint, so most cost one run. Hill climbing was rejected: survival has a
 * cliff, not a slope, and it would return settings that cannot be explained.
 */
import { seedsFor } from '../run/replicate.ts'
import { simulate } from '../run/simulation.ts'
import { overEqualTime } from '../run/study.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { applyChanges } from './changes.ts'
import { readPolicyNames, readTuneOptions, type TuneOptions } from './options.ts'
import { Search } from './search.ts'
import type { TuneResult } from './tune-result.ts'

/**
 * Searches for the smallest change to one or several policies that satisfies all constraints in every run. A pair of changes may be
 * in two policies.
 *
 * @example
 * const { changes, survives } = tune('client', scenario, {
 *   constraints: { recoveredAfterMs: { atMost: 10_000 }, amplification: { atMost: 1.5 } },
 * })
 */
export function tune(
	policies: string | readonly string[],
	scenario: Scenario,
	options: TuneOptions,
): TuneResult {
	const search = createSearch(policies, scenario, options)
	const world = overEqualTime(scenario)
	for (let task = search.next(); task; task = search.next()) {
		const { changes, seed } = task
		search.add(task, simulate({ ...world, seed, policies: applyChanges(scenario.policies, changes) }))
	}
	return search.result()
}

/** Returns a search that is driven by the caller. */
export function createSearch(
	policies: string | readonly string[],
	scenario: Scenario,
	options: TuneOptions,
): Search {
	const names = readPolicyNames(policies, scenario.policies)
	const settings = readTuneOptions(options)
	return new Search(names, scenario.policies ?? {}, settings, seedsFor(scenario, settings.replications))
}
