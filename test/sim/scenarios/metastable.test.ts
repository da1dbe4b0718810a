import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { Scenario, ServerModel } from 'yaoki/sim'
import { RETRY_BUDGET_SCHEMA } from '../../../src/core/budget/retry-budget.ts'
import { readCircuitBreakerOptions } from '../../../src/core/circuit-breaker/options.ts'
import { readRetryOptions } from '../../../src/core/retry/options.ts'
import { replicate } from '../../../src/sim/run/replicate.ts'
import type { LayerOptions, PolicyLayer } from '../../../src/sim/scenario/layers.ts'
import { metastable } from '../../../src/sim/scenarios/metastable.ts'
import { page, table } from '../../examples/markdown.ts'

/** In the middle of the map: a load of 70 %, four slow seconds. */
const recovered = (remedy: string, load = 0.7, slowMs = 4_000): number =>
	1 - replicate(metastable.at(load, slowMs, remedy), { replications: 3 }).neverRecoveredShare

const layersOf = ({ policies }: Scenario) => (policies?.['client'] ?? []) as readonly PolicyLayer[]

test('retries keep the service overloaded, with and without jitter', () => {
	expect(recovered('full jitter')).toBe(0)
	const scenario = metastable.at(0.7, 4_000, 'full jitter')
	const policies: Scenario['policies'] = {
		client: [
			{ retry: { maxRetries: 3, baseDelayMs: 100, maxDelayMs: 2_000, jitterStrategy: 'none' } },
			{ timeoutMs: 1_000 },
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
		replicate({ ...scenario, policies: { client: [{ timeoutMs: 1_000 }] } }, { replications: 3 })
			.neverRecoveredShare,
	).toBe(0)
})

test('it is the default of five consecutive failures that opens the breaker first', () => {
	const scenario = metastable.at(0.7, 4_000, 'jitter and breaker')
	const [outer, , inner] = layersOf(scenario)
	if (!outer || !inner) throw new Error('expected three layers')
	const only = { circuitBreaker: { resetTimeoutMs: 2_000 } }
	const hashes = (one: Scenario) => replicate(one, { replications: 3 }).runs.map(({ traceHash }) => traceHash)
	expect(hashes({ ...scenario, policies: { client: [outer, only, inner] } })).toEqual(hashes(scenario))
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

describe('the settings on the page are those of the study', () => {
	const rows = table(page('docs/scenarios/metastable.md'), 'setting', 'value')
	/** Returns the value in the row whose first words these are. */
	const shown = (name: string): unknown => {
		const [row, ...others] = rows.filter(([cell = '']) => cell.split(/[,:]/)[0] === name || cell === name)
		if (!row || others.length > 0) throw new Error(`expected one row for ${name}`)
		return JSON.parse(JSON.stringify(runInNewContext(`(${row[1]?.replaceAll('`', '')})`)))
	}
	const [load, slowMs] = [0.6, 2_000]
	const scenarioOf = (remedy: string): Scenario => metastable.at(load, slowMs, remedy)
	const apiOf = (remedy: string) => scenarioOf(remedy).services['api'] as ServerModel
	const layerOf = <Name extends keyof LayerOptions>(remedy: string, name: Name): LayerOptions[Name] =>
		(layersOf(scenarioOf(remedy)).find((layer) => name in layer) as Record<Name, LayerOptions[Name]>)[name]
	/** The page shows these options with their defaults, so every shown value must be the effective one, and every given one shown. */
	const expectEffective = (name: string, given: object, effective: object) => {
		expect(effective).toMatchObject(shown(name) as object)
		expect(shown(name)).toMatchObject(given)
	}
	const quoted = (remedy: string, what: string) => `${what} of "${remedy}"`
	const named = (remedy: string, what: string) =>
		rows.map(([cell = '']) => cell).find((cell) => cell.startsWith(quoted(remedy, what))) ?? ''

	test.each(metastable.panels)('service, clients and end of the run of %s', (remedy) => {
		const { durationMs: duration, until, clients, seed } = scenarioOf(remedy)
		const { workers, serviceTimeMs: serviceTime, faults, queue, ...others } = apiOf(remedy)
		expect(shown('workers')).toBe(workers)
		expect(shown('service time')).toEqual(serviceTime)
		const [fault] = faults ?? []
		expect(faults).toHaveLength(1)
		expect(fault).toEqual({ ...(shown('fault') as object), toMs: 4_000 + slowMs })
		expect(shown('end of a run')).toBe((duration ?? 0) - 4_000 - slowMs)
		expect(until).toBeUndefined()
		expect(clients).toEqual({
			web: { to: 'api', arrivals: { ...(shown('calls') as object), perSecond: load * 25 }, policy: 'client' },
		})
		expect(queue).toEqual(shown(named(remedy, 'queue') || 'queue'))
		expect({ seed, others }).toEqual({ seed: undefined, others: {} })
	})

	test('loads, slow periods and runs', () => {
		expect(shown('loads')).toEqual(metastable.x.values)
		expect(shown('lengths of the slow period')).toEqual(metastable.y.values)
		expect(shown('runs per cell')).toBe(metastable.replications)
	})

	test.each(metastable.panels)('retry, timeout and the order of layers of %s', (remedy) => {
		const { budget, ...given } = layerOf(remedy, 'retry')
		expectEffective('retry', given, readRetryOptions(given))
		expect(shown('timeout of each attempt')).toBe(layerOf(remedy, 'timeoutMs'))
		const isOf = (other: string) => remedy === `jitter and ${other}`
		expect(budget !== undefined).toBe(isOf('budget'))
		expect(layersOf(scenarioOf(remedy)).flatMap((layer) => Object.keys(layer))).toEqual(
			isOf('breaker') ? ['retry', 'circuitBreaker', 'timeoutMs'] : ['retry', 'timeoutMs'],
		)
	})

	test('budget, with its floor and its window', () => {
		const { budget } = layerOf('jitter and budget', 'retry')
		const name = named('jitter and budget', 'budget')
		const defaults = Object.entries(RETRY_BUDGET_SCHEMA).map(([key, rule]) => [
			key,
			(rule as readonly number[])[2],
		])
		expect(shown(name)).toEqual({ ...Object.fromEntries(defaults), ...budget })
	})

	test('breaker, with the defaults that open and close it', () => {
		const given = layerOf('jitter and breaker', 'circuitBreaker')
		expectEffective(named('jitter and breaker', 'breaker'), given, readCircuitBreakerOptions(given))
	})
})
