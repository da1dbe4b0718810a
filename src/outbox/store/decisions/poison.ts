/**
 * When a message is blamed for crashed processes. A crash among others proves nothing: it only makes the
 * message run alone next time. Alone, the crash may still be a kill from outside, so it has to repeat: if
 * such kills hit one run in five, they hit five in a row once in 3,000 times.
 */

import type { ClaimRequest } from '../rows.ts'

/** A message that was claimed during this many crashes runs alone. One would isolate everything that a single killed relay had claimed. */
export const CANDIDATE_AFTER = 2

/** Returns true if the process crashed `maxCrashes` times while it ran only this message. `crashes` also counts the crashes among other messages. */
export const isPoison = (crashes: number, maxCrashes: number): boolean =>
	crashes - CANDIDATE_AFTER >= maxCrashes

/** Which messages a claim yields. A recorded crash is in the row: only such messages are in the index of poison candidates. */
export type CrashFilter = 'few crashes' | 'many crashes' | 'recorded crashes'

/** With `poisonAfter` 1, the only crash of a candidate may be the one that the claim discovers, which is not recorded yet. */
export function crashFilterOf({ poisonCandidates, poisonAfter }: ClaimRequest): CrashFilter {
	if (!poisonCandidates) return 'few crashes'
	return poisonAfter > 1 ? 'recorded crashes' : 'many crashes'
}
