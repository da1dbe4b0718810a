/**
 * When each event of the demo happens, as a share of its duration: ten seconds show the same events as
 * thirty. Leases and timeouts have a minimum, below which a busy machine would look like a broken one.
 */

export type DemoSchedule = ReturnType<typeof createSchedule>

const clamp = (min: number, value: number, max: number): number => Math.min(max, Math.max(min, value))

const FAILURES = ['rejected', 'serverErrors', 'rejected', 'hung', 'rejected', 'tooManyRequests'] as const

/** Returns times in milliseconds since the first order. */
export function createSchedule(seconds: number) {
	const total = seconds * 1000
	// Orders end here; the rest of the time is for messages in flight.
	const produceMs = total - clamp(1500, total * 0.3, 3000)
	const outageMs = clamp(500, produceMs * 0.2, 5000)
	return {
		ordersPerSecond: 100,
		produceMs,
		outage: { fromMs: produceMs * 0.35, toMs: produceMs * 0.35 + outageMs },
		/** After this time a relay is killed as soon as it is busy. */
		killAtMs: produceMs * 0.75,
		/** Single failures, so that each kind occurs even in a short demo, and the dead letters soon in a long one. */
		failures: FAILURES.map((fault, index) => ({
			fault,
			atMs: Math.min(produceMs * (0.05 + 0.05 * index), 1000 * (1 + index)),
		})),
		/** Timeout of a request; requests that hang take longer. */
		timeoutMs: clamp(1000, total / 20, 1500),
		/** A killed relay keeps its messages for this time. */
		leaseMs: clamp(1000, total / 15, 2000),
		/** The circuit stays open for this time. */
		breakerMs: clamp(200, total / 30, 1000),
		/** Time after the last order in which the queue must become empty. */
		drainTimeoutMs: 30_000,
	}
}
