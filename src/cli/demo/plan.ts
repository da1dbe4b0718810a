/**
 * What happens when in a demo, as shares of its length: ten seconds show the same story as thirty. Only what a relay waits for (a
 * lease, a time limit) has a floor, below which a busy machine would look like a broken one.
 */

import type { Faults } from './receiver.ts'

/** Times in milliseconds, counted from the first order. */
export interface Plan {
	readonly ordersPerSecond: number
	/** Orders come until then; the rest of the time is for what is still under way. */
	readonly produceMs: number
	readonly outage: { readonly fromMs: number; readonly toMs: number }
	/** From then on a relay is killed as soon as it is busy. */
	readonly killAtMs: number
	/** When the receiver fails once, and how: so that each is seen, however short the demo is. */
	readonly failures: readonly { readonly atMs: number; readonly fault: keyof Faults }[]
	/** How long a relay waits for an answer: what hangs, hangs longer. */
	readonly timeoutMs: number
	/** How long a dead relay's messages stay its own. */
	readonly leaseMs: number
	/** How long an open breaker leaves the receiver alone. */
	readonly breakerMs: number
	/** What is not drained by so long after the last order will not be. */
	readonly drainWithinMs: number
}

const within = (least: number, value: number, most: number): number => Math.min(most, Math.max(least, value))

export function planOf(seconds: number): Plan {
	const total = seconds * 1000
	const produceMs = total - within(1500, total * 0.3, 3000)
	const outageMs = within(500, produceMs * 0.2, 5000)
	return {
		...{ ordersPerSecond: 100, produceMs },
		outage: { fromMs: produceMs * 0.35, toMs: produceMs * 0.35 + outageMs },
		killAtMs: produceMs * 0.75,
		failures: (['serverErrors', 'hung', 'tooMany'] as const).map((fault, index) => ({
			...{ fault, atMs: produceMs * (0.05 + 0.05 * index) },
		})),
		timeoutMs: within(1000, total / 20, 1500),
		leaseMs: within(1000, total / 15, 2000),
		breakerMs: within(200, total / 30, 1000),
		drainWithinMs: 30_000,
	}
}
