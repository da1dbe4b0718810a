/** The options that `resilientFetch`, `ResilientHttpClient` and the adapters share. */

import type { BackoffSettings } from '../../core/backoff/formula.ts'
import { computeDelayMs } from '../../core/backoff/formula.ts'
import { BACKOFF_SCHEMA, type BackoffOptions, readBackoff } from '../../core/backoff/options.ts'
import type { Budget } from '../../core/budget/budget.ts'
import type { RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../../core/engine/policy-options.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import type { Hook } from '../../core/options/hooks.ts'
import {
	invalidOption,
	isObject,
	MAX_NUMBER,
	type OptionSchema,
	readSwitchable,
} from '../../core/options/schema.ts'
import { type DeadlineHeader, deadlineHeaderNames, isDeadlineHeader } from '../headers/deadline-headers.ts'
import { HEADER_NAME, IDEMPOTENCY_KEY } from '../headers/request-headers.ts'
import { HOOKS_SCHEMA, type RequestHead, type RequestHooks } from './request-hooks.ts'

/** Options that `resilientFetch`, `ResilientHttpClient`, `axiosAdapter` and `undiciInterceptor` share. */
export interface HttpOptions extends BackoffOptions, PolicyOptions {
	/** Timeout per attempt in milliseconds, the body included. Infinity: none. Default 10,000. */
	readonly timeout?: number | undefined
	/**
	 * Timeout for the whole call in milliseconds, waits and the body included. Infinity: none. Default: as long
	 * as all attempts and the longest delays between them can take, at least three times `timeout`: 47,000 with
	 * the other defaults.
	 */
	readonly totalTimeoutMs?: number | undefined
	/**
	 * Circuit breaker per origin. Default: on, with the breaker's defaults, but open for about 1 s at first and
	 * at most 2 s (`resetBackoff: false`: 30 s), two concurrent probes, and a `probeTimeoutMs` of `timeout`,
	 * from 10 s to 5 minutes. False: none.
	 */
	readonly circuitBreaker?: CircuitBreakerOptions | boolean | undefined
	/**
	 * Returns the key of the breaker of a request within its origin, such as the name of its route: a route
	 * that fails then does not block the others. `''`: the breaker of the origin. The key is shown in events
	 * and messages, so it must not contain secrets. Default: one breaker per origin.
	 */
	readonly circuitBreakerKey?: ((request: RequestHead) => string) | undefined
	/**
	 * Bulkhead per origin. Default for a client: 100 concurrent requests and a queue of 500; for
	 * `resilientFetch`: none, because code written for `fetch` may start any number of requests.
	 */
	readonly bulkhead?: BulkheadOptions | boolean | undefined
	/**
	 * Retry budget: one for all origins, or options for one per origin. Default: 10 % of requests, at least 10
	 * per second.
	 */
	readonly budget?: Budget | RetryBudgetOptions | boolean | undefined
	/** Sends a second request for safe methods if the first is slow. Default: off. True: after the live p95. */
	readonly hedge?: HedgeOptions | boolean | undefined
	/**
	 * Returns true to retry after this error. Default: throttled and transient errors. Not called for requests
	 * that are unsafe to retry.
	 */
	readonly shouldRetry?: Hook<[error: unknown, attempt: number], boolean> | undefined
	/** Called before each wait; `attempt` counts from 1. */
	readonly onRetry?: Hook<[error: unknown, attempt: number, delayMs: number], void> | undefined
	/** Which layer retries if retries are nested, also across services. Default `'innermost'`. */
	readonly nested?: 'innermost' | 'outermost' | undefined
	/** The longest Retry-After to wait for, in milliseconds. Default 60,000. */
	readonly maxRetryAfterMs?: number | undefined
	/**
	 * What to do when Retry-After exceeds `maxRetryAfterMs`: fail the request, wait `maxRetryAfterMs` (clamp),
	 * or ignore the header. Default `'fail'`.
	 */
	readonly longRetryAfter?: 'fail' | 'clamp' | 'ignore' | undefined
	/**
	 * How long Retry-After and RateLimit headers pause an origin before it is probed, in milliseconds. After
	 * that one request per `maxPauseMs` is sent; if the server handles it, the pause is over. Without probes,
	 * one wrong header could stop all requests for an hour, which is the longest pause. Infinity: no probes.
	 * Default 60,000.
	 */
	readonly maxPauseMs?: number | undefined
	/**
	 * Which requests wait for a Retry-After or an exhausted quota: all requests to the origin, those of the
	 * same principal, or only the call that received it. A principal is identified by its credential headers,
	 * and by the result of `principal`. `'auto'`: a 5xx pauses requests with the same method and path, and the
	 * origin if two different paths ask for it within 10 s; anything else pauses the origin. Default `'auto'`.
	 */
	readonly pauseScope?: 'auto' | 'origin' | 'principal' | 'call' | undefined
	/**
	 * Returns a string that identifies the user of a request, undefined if there is none. Users with different
	 * strings never receive each other's cached responses, nor wait for each other with
	 * `pauseScope: 'principal'`. Needed if credentials are in none of the headers that the package knows.
	 * Default: none.
	 */
	readonly principal?: ((request: RequestHead) => string | undefined) | undefined
	/** Delays requests according to `RateLimit` headers, before the server returns a 429. Default true. */
	readonly honorRateLimit?: boolean | undefined
	/**
	 * `'auto'` adds an idempotency key to each POST and PATCH without one, so that they can be retried. Default
	 * `'manual'`.
	 */
	readonly idempotency?: 'manual' | 'auto' | undefined
	/** Header of the idempotency key. Default `'idempotency-key'`. */
	readonly idempotencyHeader?: string | undefined
	/** Response headers, with their value, that forbid a retry. Default `{ 'x-should-retry': 'false' }`. */
	readonly retryVetoHeaders?: Readonly<Record<string, string>> | undefined
	/**
	 * Header that sends the remaining time to the service. Default `'x-request-timeout-ms'`; false: none. In
	 * browsers it is sent to other origins only if set explicitly, because they must allow it (CORS).
	 */
	readonly deadlineHeader?: DeadlineHeader | false | undefined
	/**
	 * Maximum number of origins, breaker keys and paused principals in memory; beyond it the least recently
	 * used one is evicted. Default 1,000.
	 */
	readonly maxOrigins?: number | undefined
	/** Returns the context of each call, such as `currentContext` of `yaoki/node`. Default: none. */
	readonly getContext?: (() => CallOptions | undefined) | undefined
	/** Receives every event of every origin. */
	readonly onEvent?: PolicyListener | undefined
}

/** An option of `resilientFetch` and `ResilientHttpClient`. axios and undici have their own. */
export interface ResponseLimitOptions {
	/**
	 * Maximum size of a response body in bytes, after decompression. Reading more rejects with a
	 * ResponseTooLargeError and closes the connection. Infinity: no limit. Default: no limit.
	 */
	readonly maxResponseBytes?: number | undefined
}

type Defaulted =
	| 'timeout'
	| 'totalTimeoutMs'
	| 'maxRetries'
	| 'maxRetryAfterMs'
	| 'longRetryAfter'
	| 'maxPauseMs'
	| 'pauseScope'
	| 'honorRateLimit'
	| 'idempotency'
	| 'idempotencyHeader'
	| 'maxOrigins'

type Policies = 'circuitBreaker' | 'bulkhead' | 'budget' | 'hedge'

/** The validated options with defaults. */
export interface HttpSettings
	extends ResponseLimitOptions,
		RequestHooks,
		Omit<HttpOptions, Defaulted | Policies | 'deadlineHeader'>,
		Readonly<{ [name in Defaulted]: NonNullable<HttpOptions[name]> }>,
		Readonly<{ [name in Policies]: Exclude<HttpOptions[name], boolean> }> {
	/** The options that were set, because `lint` reports those that have no effect. */
	readonly backoff: BackoffOptions
	/** The sum of the longest delays between attempts. */
	readonly maxDelaysMs: number
	/** False if `totalTimeoutMs` was derived from `timeout`. */
	readonly isTotalGiven: boolean
	readonly vetoes: readonly (readonly [name: string, value: string])[]
	readonly deadlineHeader: DeadlineHeader | undefined
	/** True if the user set the header explicitly. */
	readonly isDeadlineHeaderNamed: boolean
}

/** Delays after this many retries are not computed one by one: `maxDelayMs` stands for each of them. */
const MAX_COMPUTED_DELAYS = 1_000

/** Returns the sum of the longest delays. A growth function is not called here: it may count its calls. */
function sumMaxDelays(settings: BackoffSettings): number {
	const { growth, maxRetries, maxDelayMs, baseDelayMs } = settings
	if (typeof growth === 'function' || maxRetries > MAX_COMPUTED_DELAYS) return maxRetries * maxDelayMs
	let sum = 0
	let delayMs = baseDelayMs
	for (let attempt = 0; attempt < maxRetries; attempt++) {
		delayMs = computeDelayMs(settings, attempt, delayMs, { random: () => 1 })
		sum += delayMs
	}
	return sum
}

/** A call lasts at least this many attempt timeouts, because it may also wait in a queue or for a pause. */
const MIN_TOTAL_FACTOR = 3

/** Returns the default `totalTimeoutMs`: enough for all attempts with hedges, and the longest delays. */
export const defaultTotalMs = (
	timeout: number,
	{ maxRetries, maxDelaysMs, maxElapsedMs = Infinity, hedge }: HttpSettings,
): number => {
	// A hedge by a percentile may start when the first request ends.
	const { delayMs = timeout, maxHedges = 1 } = hedge ?? { delayMs: 0 }
	const attemptMs = timeout + Math.min(timeout, delayMs * maxHedges)
	const allMs = Math.min((maxRetries + 1) * attemptMs + maxDelaysMs, maxElapsedMs + attemptMs)
	return Math.ceil(Math.max(allMs, MIN_TOTAL_FACTOR * timeout))
}

/** The default bulkhead of a client. */
export const CLIENT_BULKHEAD: BulkheadOptions = { maxConcurrent: 100, maxQueue: 500 }

export const HTTP_SCHEMA: OptionSchema = {
	...BACKOFF_SCHEMA,
	timeout: [0, Infinity, 10_000],
	totalTimeoutMs: 'any',
	circuitBreaker: 'any',
	circuitBreakerKey: 'function',
	bulkhead: 'any',
	budget: 'any',
	hedge: 'any',
	shouldRetry: 'function',
	onRetry: 'function',
	nested: ['innermost', 'outermost'],
	maxRetryAfterMs: [0, MAX_NUMBER, 60_000],
	longRetryAfter: ['fail', 'clamp', 'ignore'],
	maxPauseMs: [0, Infinity, 60_000],
	pauseScope: ['auto', 'origin', 'principal', 'call'],
	principal: 'function',
	honorRateLimit: 'boolean',
	idempotency: ['manual', 'auto'],
	idempotencyHeader: 'string',
	retryVetoHeaders: 'any',
	deadlineHeader: 'any',
	maxOrigins: [1, MAX_NUMBER, 1_000, 'integer'],
	getContext: 'function',
	onEvent: 'function',
	...POLICY_SCHEMA,
}

/** What `resilientFetch` and the client have in addition. */
export const FETCH_SCHEMA: OptionSchema = {
	...HTTP_SCHEMA,
	...HOOKS_SCHEMA,
	maxResponseBytes: [1, Infinity, Infinity, 'integer'],
	fetch: 'function',
}

/** Checks the timeouts, which may be infinite. */
export function checkTimeouts(options: Pick<HttpOptions, 'timeout' | 'totalTimeoutMs'>): void {
	for (const name of ['timeout', 'totalTimeoutMs'] as const) {
		const given: unknown = options[name]
		if (given !== undefined && !(typeof given === 'number' && given > 0))
			invalidOption(name, given, 'a number above 0 (milliseconds) or Infinity')
	}
}

function readVetoes(given: unknown = { 'x-should-retry': 'false' }): HttpSettings['vetoes'] {
	if (!isObject(given))
		invalidOption('retryVetoHeaders', given, "an object such as { 'x-should-retry': 'false' }")
	return Object.entries(given).map(([name, value]) => {
		if (!HEADER_NAME.test(name)) invalidOption('retryVetoHeaders', name, 'valid header names')
		if (typeof value !== 'string') invalidOption(`retryVetoHeaders['${name}']`, value, 'a string')
		return [name.toLowerCase(), value.toLowerCase()]
	})
}

const DEFAULT_DEADLINE: DeadlineHeader = 'x-request-timeout-ms'

/** Validates all options except the options of policies. Errors name `owner`. */
export function readHttpOptions(
	options: HttpOptions,
	schema: OptionSchema,
	owner: string,
	bulkhead?: BulkheadOptions,
): HttpSettings {
	if (!isObject(options)) invalidOption('options', options, 'an object')
	checkTimeouts(options)
	const settings = readPolicyOptions<HttpSettings>(options, owner, schema)
	const { totalTimeoutMs, deadlineHeader = DEFAULT_DEADLINE, idempotencyHeader = IDEMPOTENCY_KEY } = options
	if (!HEADER_NAME.test(idempotencyHeader))
		invalidOption('idempotencyHeader', idempotencyHeader, 'a valid header name')
	if (deadlineHeader !== false && !isDeadlineHeader(deadlineHeader))
		invalidOption('deadlineHeader', deadlineHeader, `false or one of ${deadlineHeaderNames()}`)
	const maxDelaysMs = sumMaxDelays(readBackoff(options))
	const backoff = Object.keys(BACKOFF_SCHEMA).map((name) => [name, options[name as keyof BackoffOptions]])
	const hedge = readSwitchable('hedge', options.hedge, undefined)
	return {
		...settings,
		maxDelaysMs,
		backoff: Object.fromEntries(backoff),
		totalTimeoutMs: totalTimeoutMs ?? defaultTotalMs(settings.timeout, { ...settings, maxDelaysMs, hedge }),
		isTotalGiven: totalTimeoutMs !== undefined,
		circuitBreaker: readSwitchable('circuitBreaker', options.circuitBreaker, {}),
		bulkhead: readSwitchable('bulkhead', options.bulkhead, bulkhead),
		budget: readSwitchable<Budget | RetryBudgetOptions>('budget', options.budget, {}),
		hedge,
		honorRateLimit: settings.honorRateLimit ?? true,
		idempotencyHeader: idempotencyHeader.toLowerCase(),
		vetoes: readVetoes(options.retryVetoHeaders),
		deadlineHeader: deadlineHeader || undefined,
		isDeadlineHeaderNamed: options.deadlineHeader !== undefined,
	}
}
