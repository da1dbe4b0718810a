/**
 * Ten processes make two thousand calls to an API that accepts a hundred per second. With a client-side
 * limiter they finish in 20 s without a 429. An exact Retry-After is a trap here: all clients wait for the
 * same token, one of them gets it, and the others use a retry.
 */
import { HttpError } from '../../core/errors/errors.ts'
import type { RateLimiterOptions } from '../../core/rate-limiter/options.ts'
import { retry } from '../../core/retry/retry.ts'
import type { VariantStudy } from '../run/study.ts'
import type { PolicyLayer, PolicyModel } from '../scenario/layers.ts'
import type { Scenario } from '../scenario/scenario.ts'

const LIMIT = 100
const PROCESSES = 10

const eightRetries = { maxRetries: 8, baseDelayMs: 200 }

const scenarioOf = (policy: PolicyModel, retryAfter = true): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		api: {
			workers: Infinity,
			serviceTimeMs: { kind: 'exponential', meanMs: 50 },
			rateLimit: { perSecond: LIMIT, burst: 10, retryAfter },
		},
	},
	clients: {
		jobs: {
			to: 'api',
			arrivals: { kind: 'closed', users: 100, callsEach: 20 },
			instances: PROCESSES,
			policy: 'caller',
		},
	},
	policies: { caller: policy },
})

/** Exactly the Retry-After. By default a retry adds jitter. */
const exact: PolicyModel = () =>
	retry({
		...eightRetries,
		delayFor: (error) => (error instanceof HttpError ? error.retryAfterMs : undefined),
	})

/** Retry-After plus a jitter that grows with each attempt. A custom delay needs a function. */
const jittered: PolicyModel = ({ runtime }) =>
	retry({
		...eightRetries,
		delayFor: (error, attempt) =>
			error instanceof HttpError && error.retryAfterMs !== undefined
				? error.retryAfterMs + runtime.random() * eightRetries.baseDelayMs * 2 ** attempt
				: undefined,
	})

const limited = (rateLimiter: RateLimiterOptions, shared = false): readonly PolicyLayer[] => [
	{ retry: eightRetries },
	{ rateLimiter: { maxWaitMs: 60_000, ...rateLimiter }, shared },
]

export const rateLimit: VariantStudy = {
	title: 'A rate-limited API',
	description:
		'Two thousand calls to an API that accepts a hundred per second and responds with 429 to the rest. Look at the share of calls ' +
		'that succeed, and at the requests per call.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'lastResponseAtMs', 'peakPerSecond'],
	chart: 'work',
	variants: {
		'no retry': scenarioOf([]),
		'backoff, no Retry-After': scenarioOf([{ retry: eightRetries }], false),
		'Retry-After, exact': scenarioOf(exact),
		'Retry-After with jitter': scenarioOf(jittered),
		'own limiter, 100/s each': scenarioOf(limited({ limit: LIMIT, burst: 10 })),
		'own limiter, 10/s each': scenarioOf(limited({ limit: LIMIT / PROCESSES, burst: 1 })),
		'shared limiter': scenarioOf(limited({ limit: LIMIT, burst: 10 }, true)),
	},
}
