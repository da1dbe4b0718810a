/** The figures of docs/scenarios/metastable.md that its study does not have: other settings, and runs without any fault. */
import type { SimulationResult } from '../../src/sim/measure/result.ts'
import { replicate } from '../../src/sim/run/replicate.ts'
import type { PolicyLayer } from '../../src/sim/scenario/layers.ts'
import type { Scenario, ServerModel } from '../../src/sim/scenario/scenario.ts'
import { metastable } from '../../src/sim/scenarios/metastable.ts'

type Rows = readonly (readonly string[])[]

const { x, y, panels, replications = 1 } = metastable
const serviceOf = ({ services }: Scenario): ServerModel => services['api'] as ServerModel
const layersOf = ({ policies }: Scenario): readonly PolicyLayer[] =>
	policies?.['client'] as readonly PolicyLayer[]

/** Changes to the first remedy, by the name of their row. */
export const CHANGES: Readonly<Record<string, (scenario: Scenario) => Scenario>> = {
	'no jitter': (scenario) => ({
		...scenario,
		policies: {
			client: layersOf(scenario).map((layer) =>
				'retry' in layer ? { retry: { ...layer.retry, jitterStrategy: 'none' } } : layer,
			),
		},
	}),
	'a budget with the default floor': (scenario) => ({
		...scenario,
		policies: {
			client: layersOf(scenario).map((layer) =>
				'retry' in layer ? { retry: { ...layer.retry, budget: { maxRetryRatio: 0.1 } } } : layer,
			),
		},
	}),
	'no retries': (scenario) => ({
		...scenario,
		policies: { client: layersOf(scenario).filter((layer) => !('retry' in layer)) },
	}),
	'newest request first': (scenario) => ({
		...scenario,
		services: { api: { ...serviceOf(scenario), queue: { order: 'lifo' } } },
	}),
}

/** Returns the share of runs of a cell that recovered. */
export const recoveredShare = (scenario: Scenario): number =>
	1 - replicate(scenario, { replications }).neverRecoveredShare

/** Counts, per change, the cells of the map in which every run recovered. */
export function countChangedCells(): Rows {
	const cells = x.values.flatMap((load) =>
		y.values.map((slowMs) => metastable.at(load, slowMs, panels[0] ?? '')),
	)
	return Object.entries(CHANGES).map(([name, change]) => {
		const recovered = cells.filter((cell) => recoveredShare(change(cell)) === 1)
		return [name, `${recovered.length} of ${cells.length}`]
	})
}

/** The length of the runs with the longest slow period. */
const HORIZON_MS = metastable.at(0.5, Math.max(...y.values), panels[0] ?? '').durationMs ?? 0
export const CALM_RUNS = 200

/** Returns how many runs without any fault have collapsed at their end. */
export function countCollapses(
	remedy: string,
	load: number,
	runs = CALM_RUNS,
	durationMs = HORIZON_MS,
): number {
	const { until: _, ...scenario } = metastable.at(load, 0, remedy)
	const calm: Scenario = {
		...scenario,
		durationMs: durationMs,
		stepMs: Math.max(1_000, durationMs / 240),
		services: { api: { ...serviceOf(scenario), faults: [] } },
	}
	return replicate(calm, { replications: runs }).runs.filter(hasCollapsed).length
}

/** Returns whether most of the calls that ended in the last five seconds were not good. */
function hasCollapsed({ timeline: { stepMs, clients } }: SimulationResult): boolean {
	const { good = [], bad = [] } = clients['web'] ?? {}
	const sum = (steps: readonly number[]) => steps.slice(-5_000 / stepMs).reduce((a, b) => a + b, 0)
	return sum(good) < sum(bad)
}

/** The loads that have a column of their own; lower ones are counted together. */
const HIGH_LOADS = [0.75, 0.8, 0.85, 0.9]
const LONG = { runs: 40, durationMs: 600_000, loads: [0.85, 0.9] }

/** Counts, per remedy, the runs without any fault that collapsed, by load. */
export function countCalmRuns(): Rows {
	const low = x.values.filter((load) => !HIGH_LOADS.includes(load))
	return panels.map((remedy) => [
		remedy,
		`${low.reduce((sum, load) => sum + countCollapses(remedy, load), 0)} of ${(low.length * CALM_RUNS).toLocaleString('en-US')}`,
		...HIGH_LOADS.map((load) => `${countCollapses(remedy, load)} of ${CALM_RUNS}`),
		...LONG.loads.map(
			(load) => `${countCollapses(remedy, load, LONG.runs, LONG.durationMs)} of ${LONG.runs}`,
		),
	])
}
