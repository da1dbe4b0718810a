import { expect } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { type Scenario, Simulation } from 'yaoki/sim'

/** Returns the error that rejects a scenario. */
export function invalidOptionOf(scenario: unknown): InvalidOptionError {
	try {
		new Simulation(scenario as Scenario)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	return expect.unreachable('the scenario was accepted')
}
