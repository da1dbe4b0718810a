/**
 * When each event of the demo happens, as a share of its duration: ten seconds show the same events as thirty. Leases and
 * timeouts have a minimum, below which a busy machine would look like a broken one.
 */
import type { Faults } from './receiver.ts'

/** Times in milliseconds since the first order. */
export interface DemoSchedule {
	readonly ordersPerSecond: number
	/** Orders end here; the rest of the time is for messages in flight. */
	readonly produceMs: number
	readonly outage: { readonly fromMs: number; readonly toMs: number }
	/** From here on a relay is killed as soon as it is busy. */
	readonly killAtMs: number
	/** Single failures, so that each kind occurs even in a short demo. */
	readonly failures: readonly { readonly atMs: number; readonly fault: keyof Faults }[]
	/** Timeout of a request; requests that hang take longer. */
	readonly timeoutMs: number
	/** Lease of a relay: how long a killed relay keeps its messages. */
	readonly leaseMs: number
	/** How long the circuit stays open. */
	readonly breakerMs: number
	/** Time after the last order in which the queue must become empty. */
	readonly drainTimeoutMs: number
}

const clamp = (min: number, value: number, max: number): number => Math.min(max, Math.max(min, value))

export function createSchedule(seconds: number): DemoSchedule {
	const total = seconds * 1000
	const produceMs = total - clamp(1500, total * 0.3, 3000)
	const outageMs = clamp(500, produceMs * 0.2, 5000)
	return {
		...{ ordersPerSecond: 100, produceMs },
		outage: { fromMs: produceMs * 0.35, toMs: produceMs * 0.35 + outageMs },
		killAtMs: produceMs * 0.75,
		failures: (['serverErrors', 'hung', 'tooManyRequests'] as const).map((fault, index) => ({
			...{ fault, atMs: produceMs * (0.05 + 0.05 * index) },
		})),
		timeoutMs: clamp(1000, total / 20, 1500),
		leaseMs: clamp(1000, total / 15, 2000),
		breakerMs: clamp(200, total / 30, 1000),
		drainTimeoutMs: 30_000,
	}
}
