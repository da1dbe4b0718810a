import { expect, test } from 'vitest'
import type { Scenario, ServerModel } from 'yaoki/sim'
import { replicate } from '../../../src/sim/run/replicate.ts'
import { metastable } from '../../../src/sim/scenarios/metastable.ts'
import { page, table } from '../../examples/markdown.ts'

/** In the middle of the map: a load of 70 %, four slow seconds. */
const recovered = (remedy: string, load = 0.7, slowMs = 4_000): number =>
	1 - replicate(metastable.at(load, slowMs, remedy), { replications: 3 }).neverRecoveredShare

test('retries keep the service overloaded, with and without jitter', () => {
	expect(recovered('full jitter')).toBe(0)
	const scenario = metastable.at(0.7, 4_000, 'full jitter')
	const policies: Scenario['policies'] = {
		client: [
			{ retry: { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 2_000, jitterStrategy: 'none' } },
			{ timeout: 1_000 },
		],
	}
	expect(replicate({ ...scenario, policies }, { replications: 3 }).neverRecoveredShare).toBe(1)
})

test.each(['jitter and budget', 'jitter and breaker', 'jitter, queue of 12', 'jitter, drops after 500 ms'])(
	'%s saves it',
	(remedy) => {
		expect(recovered(remedy)).toBe(1)
	},
)

test('dropping only expired requests does not let it recover', () => {
	expect(recovered('jitter, drops expired')).toBe(0)
})

test('serving the newest request first lets it recover', () => {
	const scenario = metastable.at(0.7, 4_000, 'full jitter')
	const api = { ...(scenario.services['api'] as ServerModel), queue: { order: 'lifo' as const } }
	expect(replicate({ ...scenario, services: { api } }, { replications: 3 }).neverRecoveredShare).toBe(0)
})

test('without retries it recovers: the load alone is no problem', () => {
	const scenario = metastable.at(0.7, 4_000, 'full jitter')
	expect(
		replicate({ ...scenario, policies: { client: [{ timeout: 1_000 }] } }, { replications: 3 })
			.neverRecoveredShare,
	).toBe(0)
})

test('the map has nine loads, ten slow periods and one panel per remedy', () => {
	expect([metastable.x.values.length, metastable.y.values.length, metastable.panels.length]).toEqual([
		9, 10, 6,
	])
	expect(metastable.replications).toBe(20)
})

test('the page counts the cells of its own chart', () => {
	const drawn = page('docs/scenarios/metastable.svg').text
	for (const [remedy = '', cells = ''] of table(page('docs/scenarios/metastable.md'), 'remedy', 'cells')) {
		const [recovered, all] = cells.split(' of ')
		expect(drawn).toMatch(new RegExp(`${remedy}: of ${all} cells \\d+ are 0 %, ${recovered} are 100 %`))
	}
})
