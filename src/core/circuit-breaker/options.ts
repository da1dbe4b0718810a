import type { BackoffSettings } from '../backoff/formula.ts'
import { readBackoff } from '../backoff/options.ts'
import { POLICY_SCHEMA, type PolicyOptions, readPolicyOptions } from '../engine/policy-options.ts'
import type { CircuitState, YaokiEvent } from '../events/events.ts'
import type { Hook } from '../options/hooks.ts'
import { withOptionPath } from '../options/option-path.ts'
import {
	checkNames,
	invalidBound,
	invalidOption,
	MAX_NUMBER,
	type Numbers,
	type OptionSchema,
	readOptions,
} from '../options/schema.ts'

/** The longest open time of the breakers that the package creates itself. */
export const MAX_OPEN_MS = 2_000

/**
 * Fills in the defaults of a breaker that the package creates itself, in HTTP clients, gRPC and the
 * idempotency store. From the study `breakers`: open times add up along a chain of services, so they stay
 * short, and one probe that hangs, for example on a request whose first attempt still runs, does not block
 * the others. Relays have their own maximum: no caller waits for a message.
 */
export const recoveringBreaker = (given: CircuitBreakerOptions): CircuitBreakerOptions =>
	given.resetBackoff === false
		? given
		: {
				...given,
				resetBackoff: given.resetBackoff ?? {},
				resetTimeoutMs: given.resetTimeoutMs ?? MAX_OPEN_MS,
				halfOpenMaxConcurrent: given.halfOpenMaxConcurrent ?? 2,
			}

/**
 * Growth and jitter of the open time: it starts at `initialMs` and grows with every failed probe to at most
 * `resetTimeoutMs`, the jitter included. It starts again when the circuit has closed.
 */
interface ResetBackoffOptions {
	/** The first open time, before the jitter. Default 1,000, or `resetTimeoutMs` if that is less. */
	readonly initialMs?: number | undefined
	/** Each open time is `factor` times the one before it. Default 1.5. */
	readonly factor?: number | undefined
	/**
	 * Jitter that spreads the probes of a fleet. Default `'equal'`, which never waits less than half a step.
	 */
	readonly jitterStrategy?: 'equal' | 'full' | 'decorrelated' | 'none' | undefined
}

/** Options of `circuitBreaker`: when the circuit opens, and when it closes again. */
export interface CircuitBreakerOptions extends PolicyOptions {
	/**
	 * This many consecutive failures within `monitorWindowMs` open the circuit. Default 5. Infinity switches
	 * the rule off, so that only rates count.
	 */
	readonly failureThreshold?: number | undefined
	/**
	 * This many successful probes close a half-open circuit. With `halfOpenFailureRate`, the number of probes
	 * that are judged. Default 2.
	 */
	readonly successThreshold?: number | undefined
	/**
	 * The share of `successThreshold` probes whose failure opens a half-open circuit again, from 0 to 1. Below
	 * it, the circuit closes when that many probes have ended. Default 0: one failed probe opens it.
	 */
	readonly halfOpenFailureRate?: number | undefined
	/** How long the circuit stays open before a probe; with `resetBackoff` the maximum. Default 30,000. */
	readonly resetTimeoutMs?: number | undefined
	/** The maximum number of concurrent probes. Further calls are rejected. Default 1. */
	readonly halfOpenMaxConcurrent?: number | undefined
	/** The period over which failures and rates are counted. Default 60,000. */
	readonly monitorWindowMs?: number | undefined
	/** The share of failed calls in the window that opens the circuit; above 0, up to 1. Default: off. */
	readonly errorRateThreshold?: number | undefined
	/** The minimum number of calls in the window before rates count. Default 10. */
	readonly minimumRequests?: number | undefined
	/**
	 * A call that takes this long is slow, whether it fails or not. A slow probe has failed. Default: off.
	 */
	readonly slowCallMs?: number | undefined
	/**
	 * The share of slow calls in the window that opens the circuit; above 0, up to 1. Default 0.5 with
	 * `slowCallMs`: at 1, a single fast response, for example from a cache, would keep the circuit closed.
	 */
	readonly slowCallRateThreshold?: number | undefined
	/**
	 * The number of last calls over which rates are computed, up to 1,000,000. Default: off; rates are computed
	 * over `monitorWindowMs`.
	 */
	readonly windowSize?: number | undefined
	/**
	 * A probe that takes this long has failed, so that a hung probe does not block the circuit. It must be
	 * longer than a normal slow call, or the circuit cannot close. Default 10,000.
	 */
	readonly probeTimeoutMs?: number | undefined
	/**
	 * If the failure that opens the circuit has a longer Retry-After, the circuit stays open for that time
	 * instead, up to this limit. 0 ignores Retry-After. Default 60,000.
	 */
	readonly maxRetryAfterMs?: number | undefined
	/**
	 * Growth and jitter of the open time; `{}` has useful defaults. Default false: the open time is exactly
	 * `resetTimeoutMs`.
	 */
	readonly resetBackoff?: ResetBackoffOptions | false | undefined
	/** Shadow mode: counts, changes state and emits events, but never rejects a call. Default false. */
	readonly shadow?: boolean | undefined
	/**
	 * Return true if this error counts as a failure of the dependency. Default: true except for `permanent` and
	 * `cancelled`.
	 */
	readonly isFailure?: Hook<[error: unknown], boolean> | undefined
	/** Return true if this result counts as a failure. Default: no result does. */
	readonly isFailureResult?: Hook<[value: unknown], boolean> | undefined
	/** Called after every change of state. `source` names the breaker and its key, if it has one. */
	readonly onStateChange?: ((from: CircuitState, to: CircuitState, source: CircuitSource) => void) | undefined
	/** Called with every event of this breaker. */
	readonly onEvent?: ((event: YaokiEvent) => void) | undefined
}

/** Which circuit changed its state. */
interface CircuitSource {
	readonly policy: string
	/** The key in `keyed`, or the origin in an HTTP client. */
	readonly key: string | undefined
}

/** What the decision reads. A rule that is off is Infinity; without `windowSize` the window is a time window. */
export interface CircuitSettings extends Numbers<CircuitBreakerOptions> {
	readonly resetBackoff?: BackoffSettings | undefined
}

export type CircuitBreakerSettings = Omit<CircuitBreakerOptions, keyof CircuitSettings> & CircuitSettings

/**
 * The defaults are from the study `breakers` of the simulator. A factor of 2 lost twice as many calls after
 * an outage of 20 s and spared a service that is down nothing: most requests to it are the retries of probes.
 * Jitter that is added to a step is not accepted: cut off at `resetTimeoutMs`, open times would bunch there.
 */
const RESET_BACKOFF_SCHEMA: OptionSchema = {
	initialMs: [1, MAX_NUMBER, 1_000],
	factor: [1, MAX_NUMBER, 1.5],
	jitterStrategy: ['equal', 'full', 'decorrelated', 'none'],
}

const CIRCUIT_BREAKER_SCHEMA: OptionSchema = {
	failureThreshold: [1, Infinity, 5, 'integer'],
	successThreshold: [1, MAX_NUMBER, 2, 'integer'],
	halfOpenFailureRate: [0, 1, 0],
	resetTimeoutMs: [1, MAX_NUMBER, 30_000],
	halfOpenMaxConcurrent: [1, MAX_NUMBER, 1, 'integer'],
	monitorWindowMs: [1, MAX_NUMBER, 60_000],
	errorRateThreshold: [0, 1, Infinity],
	minimumRequests: [1, MAX_NUMBER, 10, 'integer'],
	slowCallMs: [1, MAX_NUMBER, Infinity],
	slowCallRateThreshold: [0, 1, 0.5],
	windowSize: [1, 1e6, Infinity, 'integer'],
	probeTimeoutMs: [1, MAX_NUMBER, 10_000],
	maxRetryAfterMs: [0, MAX_NUMBER, 60_000],
	resetBackoff: 'any',
	shadow: 'boolean',
	isFailure: 'function',
	isFailureResult: 'function',
	onStateChange: 'function',
	onEvent: 'function',
	...POLICY_SCHEMA,
}

export function readCircuitBreakerOptions(options: CircuitBreakerOptions): CircuitBreakerSettings {
	const settings: CircuitBreakerSettings = readPolicyOptions(
		options,
		'circuitBreaker',
		CIRCUIT_BREAKER_SCHEMA,
	)
	const { failureThreshold, errorRateThreshold, minimumRequests, slowCallMs, windowSize } = settings
	for (const name of ['errorRateThreshold', 'slowCallRateThreshold'] as const)
		if (!settings[name]) invalidOption(name, 0, 'a number above 0, up to 1')
	if (options.slowCallRateThreshold !== undefined && slowCallMs === Infinity)
		invalidOption('slowCallRateThreshold', options.slowCallRateThreshold, 'slowCallMs to be set as well')
	if (failureThreshold === Infinity && errorRateThreshold === Infinity && slowCallMs === Infinity)
		invalidOption(
			'failureThreshold',
			Infinity,
			'an integer, or Infinity with errorRateThreshold or slowCallMs',
		)
	if (minimumRequests > windowSize)
		invalidBound(options, 'minimumRequests', minimumRequests, `at most windowSize (${windowSize})`)
	const { resetBackoff: given = false } = options
	const resetBackoff = given === false ? undefined : readResetBackoff(given, settings.resetTimeoutMs)
	return Object.assign(settings, { resetBackoff })
}

function readResetBackoff(options: ResetBackoffOptions, resetTimeoutMs: number): BackoffSettings {
	if (Object(options) !== options) invalidOption('resetBackoff', options, 'false or an object')
	return withOptionPath('resetBackoff', () => {
		checkNames(options, RESET_BACKOFF_SCHEMA, 'circuitBreaker')
		const { initialMs, ...rest } = readOptions<{ initialMs: number }>(options, RESET_BACKOFF_SCHEMA)
		if (options.initialMs !== undefined && initialMs > resetTimeoutMs)
			invalidOption('initialMs', initialMs, `at most resetTimeoutMs (${resetTimeoutMs})`)
		const baseDelayMs = Math.min(initialMs, resetTimeoutMs)
		return readBackoff({ ...rest, baseDelayMs, maxDelayMs: resetTimeoutMs })
	})
}
