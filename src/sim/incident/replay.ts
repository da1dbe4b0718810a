/** Replays an incident with a policy, in all scenarios that its events allow. */

import type { Replications } from '../measure/replications.ts'
import type { SimulationResult } from '../measure/result.ts'
import { scheduledFaults } from '../model/fault-schedule.ts'
import { replicate } from '../run/replicate.ts'
import type { PolicyModel } from '../scenario/layers.ts'
import type { Incident } from './incident.ts'
import { judgeReplay, listMissing, type ReplayVerdict } from './verdict.ts'

/** The runs of a policy in all scenarios of an incident. `replayIncident` returns it; pass it to `expectResilience`. */
export interface IncidentReplay extends ReplayVerdict {
	/** The runs of each scenario: first of `scenario`, then of each of the `alternatives`. */
	readonly byScenario: readonly Replications[]
	/** All of them, for `expectResilience`: an expectation must hold in each scenario. */
	readonly runs: readonly SimulationResult[]
	/** If the log does not decide: what the log does not show, and which measurement would decide. */
	readonly missing: readonly string[]
}

/**
 * Replays an incident with another policy, in `scenario` and in all `alternatives`.
 *
 * @example
 * const replay = replayIncident(scenarioFromIncident(lines), [{ retry: { budget: {} } }, { timeoutMs: 500 }])
 * if (!replay.isDecided) console.log(replay.missing.join('\n'))
 * expectResilience(replay).goodShareAbove(0.9) // in every scenario
 */
export function replayIncident(
	{ scenario, alternatives, summary }: Incident,
	policy: PolicyModel,
	options: { readonly replications?: number | undefined } = {},
): IncidentReplay {
	const { replications = DEFAULT_REPLAY_REPLICATIONS } = options
	const replayed = [scenario, ...alternatives].map((one) => ({
		hasFault: scheduledFaults(one).length > 0,
		result: replicate({ ...one, policies: { replay: policy } }, { replications }),
	}))
	const byScenario = replayed.map(({ result }) => result)
	const judged = replayed.map(({ hasFault, result: { runs } }) => ({ hasFault, runs }))
	const verdict = judgeReplay(judged, summary.caveats)
	const missing = verdict.isDecided ? [] : listMissing(summary.caveats)
	return { ...verdict, byScenario, runs: byScenario.flatMap(({ runs }) => runs), missing }
}

/** Fewer than in other studies: an incident is long, and its arrivals, the main source of randomness, are fixed. */
export const DEFAULT_REPLAY_REPLICATIONS = 5
