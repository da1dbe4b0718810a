import type { Policy } from '../../core/engine/policy.ts'
import type { RetryOptions } from '../../core/retry/options.ts'

/** gRPC service configs by origin, created by `httpServiceConfig` of `yaoki/grpc`. */
export interface HttpServiceConfig {
	/** The origins that it configures. */
	readonly origins: readonly string[]
}

/** What the retry and hedging policies of all routes of an origin share. */
export interface SharedByRoutes extends Pick<RetryOptions, 'budget' | 'onRetry'> {
	/** Identifies the origin of a client. */
	readonly origin: object
}

/** Creates the policies between circuit breaker and attempt, outermost first. */
export type CreatePolicies = (shared: SharedByRoutes) => readonly Policy[]
