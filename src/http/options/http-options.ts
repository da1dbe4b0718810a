/** What `resilientFetch` and `ResilientHttpClient` take, in one table, so that the two can not drift apart. */
import { BACKOFF_SCHEMA, type BackoffOptions } from '../../core/backoff/options.ts'
import type { Budget } from '../../core/budget/budget.ts'
import type { RetryBudgetOptions } from '../../core/budget/retry-budget.ts'
import type { BulkheadOptions } from '../../core/bulkhead/options.ts'
import type { CircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { checkPolicyOptions, POLICY_SCHEMA, type PolicyOptions } from '../../core/engine/policy-options.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import type { HedgeOptions } from '../../core/hedge/options.ts'
import { MAX_NUMBER, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { type DeadlineHeader, deadlineHeaderNames, isDeadlineHeader } from '../headers/deadline-headers.ts'
import { placed, refuse } from './option-path.ts'

/** How requests are made, repeated and held back. */
export interface HttpOptions extends BackoffOptions, PolicyOptions {
	/** How long an attempt may take, its body included. Infinity: no limit. Default 10,000. */
	readonly timeout?: number | undefined
	/** How long the whole may take, waits and the body included. Infinity: no limit. Default: three times `timeout`. */
	readonly totalTimeoutMs?: number | undefined
	/** A circuit breaker for each origin. Default: on, with a breaker's own defaults. False: none. */
	readonly circuitBreaker?: CircuitBreakerOptions | boolean | undefined
	/**
	 * A bulkhead for each origin. Default for a client: 100 at once and 500 waiting; for `resilientFetch`: none, since code that
	 * was written for `fetch` may start any number of requests.
	 */
	readonly bulkhead?: BulkheadOptions | boolean | undefined
	/** What retries and hedges may cost: a budget for all origins, or options for one of each origin. Default: a tenth, at least 10 a second. */
	readonly budget?: Budget | RetryBudgetOptions | boolean | undefined
	/** A second request for safe methods when the first takes longer than usual. Default: off. True: after the live p95. */
	readonly hedge?: HedgeOptions | boolean | undefined
	/** Is this failure worth another try? Default: all that is throttled or transient. Never asked for what must not be repeated. */
	readonly shouldRetry?: ((error: unknown, attempt: number) => boolean) | undefined
	/** Told before each wait; `attempt` from 1. */
	readonly onRetry?: ((error: unknown, attempt: number, delayMs: number) => void) | undefined
	/** Which of several retries around each other retries, across services, too. Default `'innermost'`. */
	readonly nested?: 'innermost' | 'outermost' | undefined
	/** The longest Retry-After that is waited for. Default 60,000. */
	readonly maxRetryAfterMs?: number | undefined
	/** What a longer one means: the failure is final, the longest wait, or as though it had not been said. Default `'fail'`. */
	readonly longRetryAfter?: 'fail' | 'clamp' | 'ignore' | undefined
	/** Heeds `RateLimit` headers, so that the 429 does not come. Default true. */
	readonly pacing?: boolean | undefined
	/** A key for each POST and PATCH that has none, which makes them repeatable; for servers that know what to do with it. Default `'manual'`. */
	readonly idempotency?: 'manual' | 'auto' | undefined
	/** The header of the key. Default `'idempotency-key'`. */
	readonly idempotencyHeader?: string | undefined
	/** Response headers that forbid a retry, with the value that does. Default `{ 'x-should-retry': 'false' }`. */
	readonly retryVetoHeaders?: Readonly<Record<string, string>> | undefined
	/**
	 * The header that tells the other side how much time is left. Default `'x-request-timeout-ms'`; false: none. Pages in a
	 * browser send none to other origins unless it is named here, since it would need their consent (CORS).
	 */
	readonly deadlineHeader?: DeadlineHeader | false | undefined
	/** How many origins are remembered; past that the one unused for longest is forgotten. Default 1,000. */
	readonly maxOrigins?: number | undefined
	/** What every call is part of, such as `currentContext` of `yaoki/node`. Default: nothing. */
	readonly getContext?: (() => CallOptions | undefined) | undefined
	/** Told every event of every origin. */
	readonly onEvent?: PolicyListener | undefined
}

/** The options after the check, with every default filled in. */
export interface HttpSettings
	extends Omit<HttpOptions, 'timeout' | 'circuitBreaker' | 'bulkhead' | 'budget' | 'hedge'> {
	readonly timeout: number
	readonly totalTimeoutMs: number
	/** Was it said, and not taken from `timeout`? */
	readonly isTotalGiven: boolean
	readonly maxRetries: number
	readonly circuitBreaker: CircuitBreakerOptions | undefined
	readonly bulkhead: BulkheadOptions | undefined
	readonly budget: Budget | RetryBudgetOptions | undefined
	readonly hedge: HedgeOptions | undefined
	readonly maxRetryAfterMs: number
	readonly longRetryAfter: 'fail' | 'clamp' | 'ignore'
	readonly pacing: boolean
	readonly idempotency: 'manual' | 'auto'
	readonly idempotencyHeader: string
	readonly vetoes: readonly (readonly [name: string, value: string])[]
	readonly deadlineHeader: DeadlineHeader | undefined
	/** Was the header asked for by name? */
	readonly isDeadlineHeaderNamed: boolean
	readonly maxOrigins: number
	/** Does the user decide what is worth another try? */
	readonly hasOwnRule: boolean
}

/** How many times an attempt's time the whole has, when nothing is said about it. */
export const DEFAULT_TOTAL_FACTOR = 3

/** A client's bulkhead when nothing is said about it. */
export const CLIENT_BULKHEAD: BulkheadOptions = { maxConcurrent: 100, maxQueue: 500 }

export const HTTP_RULES: OptionSchema = {
	...BACKOFF_SCHEMA,
	timeout: [0, Infinity, 10_000],
	totalTimeoutMs: 'any',
	circuitBreaker: 'any',
	bulkhead: 'any',
	budget: 'any',
	hedge: 'any',
	shouldRetry: 'function',
	onRetry: 'function',
	nested: 'any',
	maxRetryAfterMs: [0, MAX_NUMBER, 60_000],
	longRetryAfter: 'any',
	pacing: 'any',
	idempotency: 'any',
	idempotencyHeader: 'string',
	retryVetoHeaders: 'any',
	deadlineHeader: 'any',
	maxOrigins: [1, MAX_NUMBER, 1_000],
	getContext: 'function',
	onEvent: 'function',
	...POLICY_SCHEMA,
}

const NAME = /^[!#$%&'*+.^_`|~\w-]+$/

/** Options of a policy that may be switched on and off: undefined is as by default. */
function part<Options extends object>(
	name: string,
	given: Options | boolean | undefined,
	byDefault: Options | undefined,
): Options | undefined {
	if (given === undefined) return byDefault
	if (typeof given === 'boolean') return given ? (byDefault ?? ({} as Options)) : undefined
	if (typeof given !== 'object' || given === null) refuse(name, given, 'options, true or false')
	// One would be shared by all origins, and one origin's outage would be everybody's.
	if ('execute' in given) refuse(name, given, 'options, and not a policy')
	return given
}

function choice<const Choice extends string>(
	name: string,
	given: Choice | undefined,
	choices: readonly Choice[],
): Choice | undefined {
	if (given !== undefined && !choices.includes(given))
		refuse(name, given, choices.map((one) => `'${one}'`).join(' or '))
	return given
}

/** A time to be done in, which may be without end. */
export function checkTime(name: string, given: unknown): void {
	if (given !== undefined && !(typeof given === 'number' && given > 0))
		refuse(name, given, 'a number above 0, in milliseconds, or Infinity')
}

function flag(name: string, given: unknown): void {
	if (given !== undefined && typeof given !== 'boolean') refuse(name, given, 'true or false')
}

function vetoesOf(given: HttpOptions['retryVetoHeaders']): readonly (readonly [string, string])[] {
	if (given === undefined) return [['x-should-retry', 'false']]
	if (typeof given !== 'object' || given === null || Array.isArray(given))
		refuse('retryVetoHeaders', given, "an object, such as { 'x-should-retry': 'false' }")
	return Object.entries(given).map(([name, value]) => {
		if (!NAME.test(name)) refuse('retryVetoHeaders', name, 'names of headers')
		if (typeof value !== 'string') refuse(`retryVetoHeaders['${name}']`, value, 'a string')
		return [name.toLowerCase(), value.toLowerCase()]
	})
}

/** Checks all of them; those of a breaker, a bulkhead and a hedge are checked by who makes one. */
export function readHttpOptions(
	options: HttpOptions,
	rules: OptionSchema,
	bulkhead?: BulkheadOptions,
): HttpSettings {
	return placed('', () => settingsOf(options, rules, bulkhead))
}

function settingsOf(options: HttpOptions, rules: OptionSchema, bulkhead?: BulkheadOptions): HttpSettings {
	checkPolicyOptions(options, rules)
	checkTime('timeout', options.timeout)
	checkTime('totalTimeoutMs', options.totalTimeoutMs)
	const settings = readOptions<HttpSettings>(options, rules)
	const { totalTimeoutMs, deadlineHeader, idempotencyHeader = 'idempotency-key' } = options
	if (!NAME.test(idempotencyHeader)) refuse('idempotencyHeader', idempotencyHeader, 'the name of a header')
	if (deadlineHeader !== undefined && deadlineHeader !== false && !isDeadlineHeader(deadlineHeader))
		refuse('deadlineHeader', deadlineHeader, `false or one of ${deadlineHeaderNames()}`)
	if (settings.maxOrigins % 1) refuse('maxOrigins', settings.maxOrigins, 'a whole number')
	flag('pacing', options.pacing)
	const longRetryAfter =
		choice('longRetryAfter', options.longRetryAfter, ['fail', 'clamp', 'ignore']) ?? 'fail'
	return {
		...settings,
		totalTimeoutMs: totalTimeoutMs ?? DEFAULT_TOTAL_FACTOR * settings.timeout,
		isTotalGiven: totalTimeoutMs !== undefined,
		circuitBreaker: part('circuitBreaker', options.circuitBreaker, {}),
		bulkhead: part('bulkhead', options.bulkhead, bulkhead),
		budget: part<Budget | RetryBudgetOptions>('budget', options.budget, {}),
		hedge: part('hedge', options.hedge, undefined),
		longRetryAfter,
		nested: choice('nested', options.nested, ['innermost', 'outermost']),
		pacing: options.pacing ?? true,
		idempotency: choice('idempotency', options.idempotency, ['manual', 'auto']) ?? 'manual',
		idempotencyHeader: idempotencyHeader.toLowerCase(),
		vetoes: vetoesOf(options.retryVetoHeaders),
		deadlineHeader: deadlineHeader === false ? undefined : (deadlineHeader ?? 'x-request-timeout-ms'),
		isDeadlineHeaderNamed: deadlineHeader !== undefined,
		hasOwnRule: options.shouldRetry !== undefined,
	}
}
