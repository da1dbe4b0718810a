import type { SimulationResult } from '../measure/result.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { Simulation } from './simulation.ts'

/**
 * Runs a scenario once, in virtual time, and tells how it went.
 *
 * @example
 * const { recovery, totals } = simulate({
 *   duration: 60_000,
 *   services: { api: { workers: 10, serviceTime: 20, faults: [{ kind: 'outage', fromMs: 10_000, toMs: 20_000 }] } },
 *   clients: { web: { to: 'api', arrivals: { kind: 'poisson', perSecond: 300 }, policy: 'careful' } },
 *   policies: { careful: [{ retry: { maxRetries: 3 } }, { timeout: 1_000 }] },
 * })
 */
export function simulate(scenario: Scenario): SimulationResult {
	const simulation = new Simulation(scenario)
	simulation.advance()
	return simulation.result()
}
