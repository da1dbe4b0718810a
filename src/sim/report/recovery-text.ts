/**
 * The only place that reads the recovery of a run for reports, and that puts it into words. A run that did not recover and a run that
 * ended before it could show a recovery are different verdicts: "never" for both would blame a policy for a short simulation.
 */
import type { Recovery, SimulationResult } from '../measure/result.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { scheduledFaults } from './scheduled-faults.ts'

/** The time from the end of the last fault to recovery, or why there is none. */
export type RecoveryReading = number | 'not recovered' | 'not shown'

/** Returns the recovery of a run; undefined if its scenario has no faults. */
export function readRecovery(
	{ recovery }: Pick<SimulationResult, 'recovery'>,
	scenario: Pick<Scenario, 'services' | 'faults'>,
): RecoveryReading | undefined {
	return scheduledFaults(scenario).length === 0 ? undefined : toReading(recovery)
}

/** Returns the recovery of one client; undefined if the run has no such client. */
export function readClientRecovery({ clients }: SimulationResult, name: string): RecoveryReading | undefined {
	const client = clients[name]
	return client && toReading(client.recovery)
}

/** Without a value, the last fault had not ended when the run did. */
function toReading(recovery: Recovery | null): RecoveryReading {
	if (recovery === null || recovery.status === 'not-shown') return 'not shown'
	return recovery.recoveredAfterMs ?? 'not recovered'
}

/**
 * Formats the recovery of several runs: the mean of those that recovered, and how many did not. `formatMean` formats the times, which
 * are at least one.
 */
export function formatRecovery(
	readings: readonly RecoveryReading[],
	formatMean: (timesMs: readonly number[]) => string,
): string {
	const times = readings.filter((reading) => typeof reading === 'number')
	const hidden = readings.filter((reading) => reading === 'not shown').length
	if (times.length === readings.length) return times.length === 0 ? '' : formatMean(times)
	if (hidden === readings.length) return 'not shown'
	const recovered =
		times.length === 0
			? 'not recovered'
			: `${formatMean(times)} in ${times.length} of ${readings.length} runs`
	return hidden === 0 ? recovered : `${recovered}, not shown in ${hidden}`
}
