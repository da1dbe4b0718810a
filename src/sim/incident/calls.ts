/** When calls began and how they ended: those that a policy let in, and those that were rejected. */

import { detailOf, isCallLost, OUTCOME, outcomeOf } from './attempt-outcome.ts'
import { GrowableArray } from './growable-array.ts'
import { eachWithin, type Observers } from './observers.ts'
import type { TimeRange } from './time-range.ts'

export interface Calls {
	/** Wall times, in order. */
	readonly begunAt: Float64Array
	readonly good: number
	/** Failed after at least one attempt, and rejected without one. */
	readonly failed: number
	readonly rejected: number
	/** Nothing is told of them but that they came. */
	readonly unknown: number
}

export function callsOf({ calls, refusals, isUnseen, untold }: Observers, stretch: TimeRange): Calls {
	const begins = new GrowableArray()
	let [good, failed, rejected] = [0, 0, 0]
	eachWithin(calls, stretch, (end, callMs, attemptMs, code) => {
		begins.add(end - callMs)
		if (!isCallLost(code)) good++
		// Of a call that was made again, no single attempt has a duration: then others came before the refusal.
		else if (outcomeOf(code) === OUTCOME.refused && attemptMs >= 0) rejected++
		else failed++
	})
	eachWithin(refusals, stretch, (end, _, __, code) => {
		if (!isUnseen[detailOf(code)]) return
		begins.add(end)
		rejected++
	})
	const told = begins.length
	eachWithin(untold, stretch, (end) => begins.add(end))
	return { begunAt: begins.sorted(), good, failed, rejected, unknown: begins.length - told }
}
