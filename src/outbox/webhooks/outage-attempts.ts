/**
 * Which messages are sent as soon as an endpoint is back, before their next retry: those whose failures an outage of
 * this duration explains. A message that fails by itself, while others of its endpoint succeed, keeps its delays.
 * With every early retry it has one more attempt, so only an outage that is several times as long releases it again.
 * To release all messages instead would end the retries of three days within minutes, each time another message
 * succeeds.
 */
import { computeStepMs } from '../../core/backoff/formula.ts'
import { readBackoff } from '../../core/backoff/options.ts'
import type { RelayRetryOptions } from '../destinations/destination.ts'

/** Jitter can halve a delay, so as many attempts may have been made in half of the time. */
const SHORTEST = 0.5

/** With more attempts, delays are so short that none outlasts an outage by much. */
const MAX_ATTEMPTS = 10_000

/** Returns how many attempts a message may have made in an outage of this duration, at least one. */
export function maxAttemptsWithin(outageMs: number, retry: RelayRetryOptions): number {
	const { baseDelayMs, maxDelayMs, factor, growth } = retry
	const delays = readBackoff({ baseDelayMs, maxDelayMs, factor, growth })
	let elapsedMs = 0
	for (let attempts = 1; attempts < MAX_ATTEMPTS; attempts++) {
		elapsedMs += computeStepMs(delays, attempts - 1) * SHORTEST
		if (elapsedMs > outageMs) return attempts
	}
	return MAX_ATTEMPTS
}
