/**
 * What a queue explains. A service whose capacity is known is slow when more comes than it can do, and that is no fault of its
 * schedule: another policy would have sent less. So the requests are put through a queue of that capacity, as a fluid, and what came slowly
 * or not at all where the queue was long enough is set aside. What the queue does not explain stays evidence of a fault, and a request
 * that hung for no such reason is taken to have cost the service nothing, as in an outage.
 */

import { OUTCOME } from './attempt-outcome.ts'
import type { Attempts } from './attempts.ts'
import { at } from './growable-array.ts'
import type { Pace } from './service-time.ts'

/** The fluid is an estimate: a wait of this share of what was too much is reason enough. */
const ENOUGH = 0.6

/** Marks the attempts of which the load is the reason. */
export function explainByLoad(attempts: Attempts, pace: Pace, workers: number): void {
	const { length, begin, outcome, isExplained } = attempts
	const { meanMs, medianMs, slowMs } = pace
	/** Work that is left, for each worker. */
	let leftMs = 0
	let latest = -Infinity
	const all = Uint32Array.from({ length }, (_, index) => index)
	for (const index of attempts.inOrder(begin, all)) {
		const now = at(begin, index)
		leftMs = Math.max(0, leftMs - (now - latest))
		latest = now
		if (outcome[index] === OUTCOME.failed) continue
		const tookMs = attempts.durationMs(index)
		const isHung = outcome[index] === OUTCOME.hung
		// What workers have begun makes nobody wait as long as one of them is free.
		const isEnough = leftMs - meanMs >= ENOUGH * (tookMs - medianMs)
		const isOverload = isEnough && (isHung || tookMs > slowMs)
		if (isOverload) isExplained[index] = 1
		if (isHung && !isEnough) continue
		// An answer tells how long the wait was at most and, if it was the wait that made it slow, at least.
		if (attempts.isTimed(index)) {
			if (isOverload) leftMs = Math.max(leftMs, tookMs - meanMs)
			leftMs = Math.min(leftMs, tookMs)
		}
		leftMs += meanMs / workers
	}
}
