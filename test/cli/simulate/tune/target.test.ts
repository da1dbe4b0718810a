import { describe, expect, test } from 'vitest'
import { retry } from 'yaoki'
import { type Scenario, scenarios } from 'yaoki/sim'
import { CliError } from '../../../../src/cli/errors.ts'
import { findPolicies, findTargets } from '../../../../src/cli/simulate/tune/tune-input.ts'
import { pair, small } from '../files.ts'

describe('the scenario of a search', () => {
	test('the scenario of a search is the only variant', () => {
		const [target] = findTargets({ ...pair, variants: { only: small } }, 'mine.json')
		expect(target).toMatchObject({ name: 'only', scenario: small })
	})

	test('the scenario of a search is ambiguous in a study with several variants, which names them', () => {
		const find = () => findTargets(pair, 'mine.json')
		expect(find).toThrow('--tune requires one scenario, but mine.json has 2 variants.')
		expect(find).toThrow(
			expect.objectContaining({ hint: 'Select one with --variant: retries, none.', exitCode: 2 }),
		)
	})

	test('the scenario of a search is not a grid', async () => {
		const grid = await scenarios['metastable']?.()
		if (!grid) throw new Error('there is no grid')
		expect(() => findTargets(grid, 'metastable')).toThrow(
			'--tune requires a scenario, but metastable is a grid.',
		)
	})
})

describe('the policies of a search', () => {
	const scenario: Scenario = {
		...small,
		services: {
			api: { serviceTimeMs: 1, dependsOn: [{ to: 'db', policy: 'toDb' }] },
			db: { kind: 'optimistic-lock' },
		},
		policies: { careful: [{ retry: {} }], toDb: [], unused: [], code: () => retry() },
	}

	test('the policies of a search are by default all layered ones that a client or a service uses', () => {
		expect(findPolicies(scenario, [])).toEqual(['careful', 'toDb'])
	})

	test('the policies of a search are the given ones, used or not', () => {
		expect(findPolicies(scenario, ['unused'])).toEqual(['unused'])
	})

	test.each(['code', 'carefull'])('cannot be %s', (name) => {
		expect(() => findPolicies(scenario, [name])).toThrow(`Unknown value "${name}" for --tune-policy.`)
	})

	test('the policies of a search are required', () => {
		const find = () => findPolicies({ ...small, policies: { careful: () => retry() } }, [])
		expect(find).toThrow(CliError)
		expect(find).toThrow('--tune requires a policy that is given as layers and that a client uses.')
	})
})
