/** The faults of a scenario with the service that each of them hits, for charts and for readers of the JSON. */
import type { FaultBand } from '../charts/chart-data.ts'
import type { Fault, Scenario } from '../scenario/scenario.ts'

/** A fault and the name of its service. */
export type ScheduledFault = Fault & { readonly service: string }

/** Returns the faults of all services. */
export const scheduledFaults = ({ services }: Pick<Scenario, 'services'>): readonly ScheduledFault[] =>
	Object.entries(services).flatMap(([service, model]) =>
		model.kind === 'optimistic-lock' ? [] : (model.faults ?? []).map((fault) => ({ service, ...fault })),
	)

/** Returns the faults as bands over seconds. With several services, a label names the service: `outage of api`. */
export function faultBands(scenario: Pick<Scenario, 'services'>): readonly FaultBand[] {
	const isSeveral = Object.keys(scenario.services).length > 1
	return scheduledFaults(scenario).map(({ kind, service, fromMs, toMs }) => ({
		from: fromMs / 1_000,
		to: toMs / 1_000,
		label: isSeveral ? `${kind} of ${service}` : kind,
	}))
}
