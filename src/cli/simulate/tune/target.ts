/**
 * What `--tune` searches: one scenario, with the others that the events of an incident allow, and those of its policies that are data. A study with several variants is rejected instead of
 * searched variant by variant: the answer would be a different policy for each.
 */
import { isGrid, listCases, type Study, type StudyCase } from '../../../sim/run/study.ts'
import type { Scenario } from '../../../sim/scenario/scenario.ts'
import { CliError } from '../../errors.ts'
import { unknownName } from '../../parse-arguments.ts'
import { policyOf } from '../replay-ranges.ts'
import { variantNames } from '../study-source.ts'

/** A case to search, with its index in the study. */
export interface TuneTarget extends StudyCase {
	readonly index: number
}

/** Returns the scenario to search, and after it the alternatives of an incident. */
export function findTargets(study: Study, name: string): readonly [TuneTarget, ...TuneTarget[]] {
	const cases = isGrid(study) ? [] : listCases(study).map((one, index) => ({ ...one, index }))
	const [only, ...others] = cases.filter((one) => policyOf(one.name) === one.name)
	if (isGrid(study)) throw new CliError('usage', `--tune requires a scenario, but ${name} is a grid.`)
	if (!only || others.length > 0)
		throw new CliError(
			'usage',
			`--tune requires one scenario, but ${name} has ${others.length + 1} variants.`,
			{
				hint: `Select one with --variant: ${variantNames(study).join(', ')}.`,
			},
		)
	return [only, ...cases.filter((one) => one !== only)]
}

/** Returns the given policies, or by default all that are in use and given as layers: functions cannot be changed. */
export function findPolicies(scenario: Scenario, given: readonly string[]): readonly string[] {
	const { policies = {}, clients, services } = scenario
	const hops = Object.values(services).flatMap((service) =>
		service.kind === 'optimistic-lock' ? [] : (service.dependsOn ?? []),
	)
	const used = new Set([...Object.values(clients), ...hops].map(({ policy }) => policy))
	const layered = Object.keys(policies).filter((name) => typeof policies[name] !== 'function')
	const missing = given.find((name) => !layered.includes(name))
	if (missing !== undefined) throw unknownName('--tune-policy', missing, layered)
	const names = given.length > 0 ? given : layered.filter((name) => used.has(name))
	if (names.length === 0)
		throw new CliError('usage', '--tune requires a policy that is given as layers and that a client uses.', {
			hint: 'A policy that is a function cannot be changed. Give its layers as data: [{ "retry": {} }].',
		})
	return names
}
