export type CircuitState = 'closed' | 'open' | 'half-open'

/** What a circuit can tell about itself. */
export interface CircuitStats {
	readonly state: CircuitState
	/** Failed calls in the window. A half-open circuit has none: one would have opened it. */
	readonly failureCount: number
	/** Successful calls in the window, or successful probes while half-open. */
	readonly successCount: number
	/** The share of failed calls; 0 when there were no calls. */
	readonly errorRate: number
	readonly slowCallCount: number
	/** The share of slow calls; 0 when there were no calls. */
	readonly slowCallRate: number
	/** Failures since the latest success, as far as they lie in the window; 0 where that rule is off. */
	readonly consecutiveFailures: number
	/** Calls refused since it was last closed. */
	readonly rejectedCount: number
	/** Until a call may be let through again; 0 when one may now, Infinity while isolated. */
	readonly retryAfterMs: number
}
