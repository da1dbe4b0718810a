/**
 * What a replay shows about a policy, over all scenarios that the events of an incident allow. A claim holds
 * only if it holds in each of them. If they disagree about the recovery, or their shares of good calls differ
 * by more than ten points, the log does not decide what the policy would have done. Nor does it if the
 * scenario does not reproduce the log: then its runs show another incident, and their numbers are left out.
 * Showing the most likely scenario was rejected: where a log ends in a collapse, the shortest fault that
 * explains it says "recovers", and a fault that lasts to the end explains it as well and says the opposite.
 */
import { formatCount, formatPercent } from '../../text/format.ts'
import type { SimulationResult } from '../measure/result.ts'
import { NOT_REPRODUCED } from '../run/expect.ts'
import type { Caveat } from './summary.ts'

/** Results that differ by more, as shares of good calls, are no result. */
const MAX_DIFFERENCE = 0.1

export interface ReplayVerdict {
	/** The lowest and the highest mean share of good calls, 0 to 1. [0, 1] if the log is not reproduced: its runs show nothing. */
	readonly goodShare: readonly [number, number]
	/** The number of scenarios, and of those in which every run recovers. None of them shows a recovery if the log is not reproduced. */
	readonly scenarios: number
	readonly recovered: number
	/** False if the scenario does not reproduce the log (caveat `not-reproduced`). */
	readonly isReproduced: boolean
	/** False if the scenarios disagree or do not reproduce the log: it is not known what the policy would have done. */
	readonly isDecided: boolean
}

/** Returns whether the scenario of an incident ends the recorded attempts as the log does. */
export const isReproduced = (caveats: readonly Caveat[]): boolean =>
	!caveats.some(({ code }) => code === 'not-reproduced')

/**
 * Judges the runs of a policy: a list per scenario. `hasFault`: whether the scenario has a fault to recover
 * from. `caveats` are the caveats of the incident.
 */
export function judgeReplay(
	scenarios: readonly { readonly runs: readonly SimulationResult[]; readonly hasFault: boolean }[],
	caveats: readonly Caveat[],
): ReplayVerdict {
	const judged = scenarios.filter(({ runs }) => runs.length > 0)
	if (!isReproduced(caveats)) {
		const nothing = { goodShare: [0, 1], recovered: 0, isReproduced: false, isDecided: false } as const
		return { ...nothing, scenarios: judged.length }
	}
	const shares = judged.map(({ runs }) => goodShareOf(runs))
	const goodShare = [Math.min(...shares), Math.max(...shares)] as const
	// A fault that is not over when the run ends has no recovery.
	const recovered = judged.filter(
		({ runs, hasFault }) => !hasFault || runs.every(({ recovery }) => recovery?.status === 'recovered'),
	).length
	const isAgreed = recovered === 0 || recovered === judged.length
	const isDecided = isAgreed && goodShare[1] - goodShare[0] <= MAX_DIFFERENCE
	return { goodShare, scenarios: judged.length, recovered, isReproduced: true, isDecided }
}

export const goodShareOf = (runs: readonly SimulationResult[]): number =>
	runs.reduce((sum, { totals }) => sum + totals.goodShare, 0) / runs.length

/** Formats a range of shares: `31 to 98 %`. */
export function formatShares([min, max]: ReplayVerdict['goodShare']): string {
	const [low, high] = [formatPercent(min, 0), formatPercent(max, 0)]
	return low === high ? low : `${low.replace(' %', '')} to ${high}`
}

export const formatVerdict = ({ goodShare, scenarios, recovered, ...verdict }: ReplayVerdict): string =>
	!verdict.isReproduced
		? `cannot be decided from this log: ${NOT_REPRODUCED}`
		: `${verdict.isDecided ? '' : 'cannot be decided from this log: '}${formatShares(goodShare)} good, recovers in ${recovered} of ${formatCount(scenarios, 'scenario')}`

/** Returns what a log does not show, and the measurements that would decide, a line each. */
export const listMissing = (caveats: readonly Caveat[]): readonly string[] =>
	caveats.flatMap(({ missing }) =>
		missing ? [`The log does not show ${missing.what}. This would: ${missing.shownBy}.`] : [],
	)
