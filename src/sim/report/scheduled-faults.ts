/** The faults of a scenario with the service that each of them hits, for charts and for readers of the JSON. */
import type { FaultBand } from '../charts/chart-data.ts'
import { faultsAt } from '../model/fault-schedule.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** A fault and the name of its service. */
export type ScheduledFault = Fault & { readonly service: string }

type Faulty = Pick<Scenario, 'services' | 'faults'>

/** Returns the faults of all services. A fault that several services share is listed for each of them. */
export const scheduledFaults = (scenario: Faulty): readonly ScheduledFault[] =>
	Object.keys(scenario.services).flatMap((service) =>
		faultsAt(scenario, service).map((fault) => ({ ...fault, service })),
	)

/** Returns the faults as bands over seconds. With several services, a label names the service: `outage of api`. */
export function faultBands(scenario: Faulty): readonly FaultBand[] {
	const isSeveral = Object.keys(scenario.services).length > 1
	return scheduledFaults(scenario).map(({ kind, service, fromMs, toMs }) => ({
		from: fromMs / 1_000,
		to: toMs / 1_000,
		label: isSeveral ? `${kind} of ${service}` : kind,
	}))
}
