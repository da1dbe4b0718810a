import { expect } from 'vitest'
import { InvalidOptionError } from 'yaoki'
import { type Scenario, Simulation } from 'yaoki/sim'

/** How a scenario is refused, before anything of it runs. */
export function refusal(scenario: unknown): InvalidOptionError {
	try {
		new Simulation(scenario as Scenario)
	} catch (error) {
		if (error instanceof InvalidOptionError) return error
		throw error
	}
	return expect.unreachable('it was not refused')
}
