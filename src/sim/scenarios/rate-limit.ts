/**
 * Ten processes have two thousand calls to make to an API that takes a hundred a second. How do they get through? With a
 * limiter on their own side, in 20 s and without a single 429. Retry-After, followed to the letter, is a trap here: it tells
 * everybody of the same free place, one of them gets it, and the others use up their retries in the crowd.
 */
import { HttpError } from '../../core/errors/errors.ts'
import type { RateLimiterOptions } from '../../core/rate-limiter/options.ts'
import { retry } from '../../core/retry/retry.ts'
import type { VariantStudy } from '../run/study.ts'
import type { PolicyLayer } from '../scenario/layers.ts'
import type { PolicyModel, Scenario } from '../scenario/scenario.ts'

const LIMIT = 100
const PROCESSES = 10

const eightRetries = { maxRetries: 8, baseDelayMs: 200 }

const scenarioOf = (policy: PolicyModel, retryAfter = true): Scenario => ({
	until: 'idle',
	stepMs: 500,
	services: {
		api: {
			workers: Infinity,
			serviceTime: { kind: 'exponential', meanMs: 50 },
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

/** No earlier than told, and then spread by chance, the wider the more often it was in vain: a decision of one's own is a function. */
const spread: PolicyModel = ({ runtime }) =>
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
		'Two thousand calls, an API that takes a hundred a second and answers 429 to the others. Look at the share of calls that ' +
		'got through, and at the requests that each took.',
	replications: 10,
	measures: ['goodShare', 'amplification', 'lastResponseAtMs', 'peakPerSecond'],
	chart: 'work',
	variants: {
		'no retry': scenarioOf([]),
		'backoff, no Retry-After': scenarioOf([{ retry: eightRetries }], false),
		'Retry-After, to the letter': scenarioOf([{ retry: eightRetries }]),
		'Retry-After, and spread': scenarioOf(spread),
		'a limiter each, of 100/s': scenarioOf(limited({ limit: LIMIT, burst: 10 })),
		'a limiter each, of 10/s': scenarioOf(limited({ limit: LIMIT / PROCESSES, burst: 1 })),
		'one limiter for all': scenarioOf(limited({ limit: LIMIT, burst: 10 }, true)),
	},
}
