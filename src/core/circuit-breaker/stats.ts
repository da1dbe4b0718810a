import type { CircuitState } from '../events/events.ts'

/** The state and the counts of a circuit. Read it from `stats` of a `CircuitBreaker`. */
export interface CircuitBreakerStats {
	readonly state: CircuitState
	/** Failed calls in the window or, while half-open, failed and slow probes. */
	readonly failureCount: number
	/** Successful calls in the window or, while half-open, successful probes. */
	readonly successCount: number
	/** The share of failed calls; 0 if there were no calls. */
	readonly errorRate: number
	readonly slowCallCount: number
	/** The share of slow calls; 0 if there were no calls. */
	readonly slowCallRate: number
	/** Consecutive failures within the window; 0 if that rule is off. */
	readonly consecutiveFailures: number
	/** Calls rejected since the circuit was last closed. */
	readonly rejectedCount: number
	/** The time until a call may pass; 0 if one may pass now, Infinity while isolated. */
	readonly retryAfterMs: number
	/**
	 * True if the circuit is open and its open time has passed: the next call is a probe. A circuit has no timer, so without calls it stays open.
	 */
	readonly canProbe: boolean
}
