/** The options of a relay and of its destinations: validation and defaults. */
import { BACKOFF_SCHEMA, selectJitter } from '../../core/backoff/options.ts'
import { presets } from '../../core/backoff/presets.ts'
import { type CircuitSettings, readCircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { Classification } from '../../core/classify/classification.ts'
import { classify, extendClassifier } from '../../core/classify/classify.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import {
	checkName,
	checkNames,
	checkRange,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import { type RetrySettings, readRetryOptions } from '../../core/retry/options.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import {
	type AttemptLogOptions,
	type AttemptLogSettings,
	readAttemptLog,
} from '../destinations/attempt-log-options.ts'
import { type BatchSettings, batchOf } from '../destinations/batch-destination.ts'
import type {
	Destination,
	DestinationOptions,
	MessageHandler,
	OrderOptions,
	RateOptions,
	RelayCircuitBreakerOptions,
	RelayRetryOptions,
} from '../destinations/destination.ts'
import { DESTINATION_SCHEMA } from '../destinations/destination-schema.ts'
import type { RelayListener } from '../events/relay-events.ts'
import type { AfterDeadLetter, SharedRate } from '../store/rows.ts'
import { DEFAULT_MAX_RETRY_AFTER_MS, DEFAULT_TIMEOUT_MS } from './defaults.ts'

/** Options of `new Relay`, beside `destinations`. */
export interface RelayOptions {
	/** The relay's name in events. Default `'relay'`. */
	readonly name?: string | undefined
	/** How failed messages are retried. Default: the preset `messageQueue`. */
	readonly retry?: RelayRetryOptions | undefined
	/**
	 * Options of the circuit breaker per destination, or false for none. Default: it opens after 5 consecutive
	 * failures, for about 1 s (with jitter), growing to 5 minutes.
	 */
	readonly circuitBreaker?: RelayCircuitBreakerOptions | false | undefined
	/** Maximum number of messages in flight per destination; a batch counts as one. Default 16. */
	readonly maxConcurrent?: number | undefined
	/** Maximum number of messages in flight in total; a batch counts as one. Default 1,000. */
	readonly maxConcurrentTotal?: number | undefined
	/** Maximum number of messages per claim and destination. Default 2,000. */
	readonly batchSize?: number | undefined
	/** How long a message stays claimed by a relay that sends no heartbeats. Default 60,000. */
	readonly leaseMs?: number | undefined
	/** Timeout of a handler. Default 30,000. */
	readonly timeoutMs?: number | undefined
	/**
	 * Maximum time between two polls, for messages without a notification. While polls find some, the interval
	 * is shorter, at least 50. Default 1,000.
	 */
	readonly pollMs?: number | undefined
	/**
	 * A message that crashed its process this many times while it ran alone becomes a dead letter. Default 5.
	 */
	readonly maxCrashes?: number | undefined
	/** How long a destination takes to return to full concurrency after an outage. Default 10,000. */
	readonly rampUpMs?: number | undefined
	/** Upper limit for Retry-After. Default one hour. */
	readonly maxRetryAfterMs?: number | undefined
	/**
	 * Keeps a record of each call of a handler: time, duration, outcome, status, error and the start of the
	 * response. `outbox.attempts(id)` and `yaoki outbox why` show it. Default false.
	 */
	readonly attemptLog?: AttemptLogOptions | boolean | undefined
	/** Receives every event. */
	readonly onEvent?: RelayListener | undefined
	/** Clock, timers and randomness. Default: the system's. */
	readonly runtime?: Runtime | undefined
}

type OptionalInSettings = 'retry' | 'circuitBreaker' | 'attemptLog' | 'onEvent'

export type RelaySettings = Pick<RelayOptions, OptionalInSettings> & {
	readonly [Name in Exclude<keyof RelayOptions, OptionalInSettings>]: NonNullable<RelayOptions[Name]>
}

export interface DestinationSettings {
	readonly deliver: MessageHandler
	/** Undefined if each call gets one message. */
	readonly batch: BatchSettings | undefined
	readonly maxConcurrent: number
	/** Infinity without a limit. */
	readonly maxConcurrentAllRelays: number
	readonly rate: SharedRate | undefined
	readonly timeoutMs: number
	readonly retry: RetrySettings
	readonly classify: (error: unknown) => Classification
	readonly circuitBreaker: BreakerSettings | undefined
	/** Undefined without ordering. */
	readonly afterDeadLetter: AfterDeadLetter | undefined
	/** Undefined without an attempt log. */
	readonly attemptLog: AttemptLogSettings | undefined
}

export interface BreakerSettings extends CircuitSettings {
	readonly isFailure?: ((error: unknown) => boolean) | undefined
	readonly permanentThreshold: number
}

const RELAY_SCHEMA: OptionSchema = {
	name: 'string',
	destinations: 'any',
	retry: 'any',
	circuitBreaker: 'any',
	maxConcurrent: [1, 1e6, 16],
	maxConcurrentTotal: [1, 1e6, 1_000],
	batchSize: [1, 10_000, 2_000],
	leaseMs: [50, MAX_NUMBER, 60_000],
	timeoutMs: [1, MAX_NUMBER, DEFAULT_TIMEOUT_MS],
	pollMs: [1, MAX_NUMBER, 1_000],
	maxCrashes: [1, MAX_NUMBER, 5],
	rampUpMs: [0, MAX_NUMBER, 10_000],
	maxRetryAfterMs: [0, MAX_NUMBER, DEFAULT_MAX_RETRY_AFTER_MS],
	attemptLog: 'any',
	onEvent: 'function',
	runtime: 'any',
}

type Limits = 'maxConcurrent' | 'maxConcurrentAllRelays' | 'timeoutMs'

const RATE_SCHEMA: OptionSchema = {
	limit: [1, 1e6, 0],
	intervalMs: [1, MAX_NUMBER, 1_000],
	burst: [1, 1e6, 0],
}

const INTEGERS = ['maxConcurrent', 'maxConcurrentTotal', 'batchSize', 'maxCrashes'] as const

/** Longer than core's default, because a backlog can wait. */
const MAX_OPEN_MS = 300_000

/** Fewer different messages may fail by coincidence. This many dead letters can be replayed one by one. */
const PERMANENT_THRESHOLD = 5

/** The options of core's retry and breaker that have an effect here. */
const { maxElapsedMs: _, ...BACKOFF } = BACKOFF_SCHEMA
const RETRY_HOOKS: OptionSchema = { shouldRetry: 'any', delayFor: 'any', budget: 'any', classify: 'any' }
const RETRY_SCHEMA: OptionSchema = { ...BACKOFF, ...RETRY_HOOKS }
const BREAKER_SCHEMA: Readonly<Record<keyof RelayCircuitBreakerOptions, 'any'>> = {
	failureThreshold: 'any',
	successThreshold: 'any',
	resetTimeoutMs: 'any',
	resetBackoff: 'any',
	monitorWindowMs: 'any',
	errorRateThreshold: 'any',
	minimumRequests: 'any',
	slowCallMs: 'any',
	slowCallRateThreshold: 'any',
	windowSize: 'any',
	maxRetryAfterMs: 'any',
	isFailure: 'any',
	permanentThreshold: 'any',
}

export function readRelayOptions(options: RelayOptions): RelaySettings {
	checkNames(options, RELAY_SCHEMA, 'Relay')
	const settings = readOptions<RelaySettings>(options, RELAY_SCHEMA)
	for (const name of INTEGERS) checkInteger(name, settings[name])
	const { name = 'relay', runtime = systemRuntime } = options
	if (typeof runtime?.setTimer !== 'function') invalidOption('runtime', runtime, 'a Runtime')
	return { ...settings, name, runtime }
}

/** Returns the settings of a destination; its defaults are the relay's. */
export function readDestination(
	name: string,
	given: MessageHandler<never> | Destination<never>,
	relay: RelaySettings,
): DestinationSettings {
	const path = `destinations['${name}']`
	if (typeof given !== 'function' && typeof (given as Destination<never> | undefined)?.deliver !== 'function')
		invalidOption(path, given, 'a function (message, context) => Promise<void>, or an object with deliver')
	const own: DestinationOptions = typeof given === 'function' ? {} : given
	const settings = withOptionPath(path, () => {
		checkNames(own, DESTINATION_SCHEMA)
		return readOptions<Record<Limits, number>>(own, DESTINATION_SCHEMA)
	})
	for (const option of ['maxConcurrent', 'maxConcurrentAllRelays'] as const)
		if (own[option] !== undefined) checkInteger(`${path}.${option}`, own[option])
	const { retry = relay.retry, circuitBreaker: breaker = relay.circuitBreaker } = own
	const { attemptLog = relay.attemptLog } = own
	const pathOf = (option: keyof typeof own) => (own[option] === undefined ? option : `${path}.${option}`)
	return {
		// The relay passes it only messages of its destination, as its type requires.
		deliver: (typeof given === 'function' ? given : given.deliver.bind(given)) as MessageHandler,
		batch: batchOf(typeof given === 'function' ? given : given.deliver),
		maxConcurrent: settings.maxConcurrent || relay.maxConcurrent,
		maxConcurrentAllRelays: settings.maxConcurrentAllRelays,
		rate: own.rate === undefined ? undefined : readRate(`${path}.rate`, own.rate),
		timeoutMs: settings.timeoutMs || relay.timeoutMs,
		retry: readRetry(pathOf('retry'), retry),
		classify: extendClassifier(retry?.classify, classify),
		circuitBreaker: breaker === false ? undefined : readBreaker(pathOf('circuitBreaker'), breaker),
		afterDeadLetter: readOrder(`${path}.order`, own.order),
		attemptLog: readAttemptLog(pathOf('attemptLog'), attemptLog),
	}
}

function readRetry(path: string, options: RelayRetryOptions = {}): RetrySettings {
	if (Object(options) !== options) invalidOption(path, options, 'an object such as { maxRetries: 5 }')
	return withOptionPath(path, () => {
		checkNames(options, RETRY_SCHEMA)
		const { messageQueue } = presets
		const jitterStrategy = selectJitter(options, messageQueue.jitterStrategy)
		const given = { ...messageQueue, ...definedOnly(options), jitterStrategy }
		if (given.maxRetries !== Infinity) return readRetryOptions(given)
		if (given.baseDelayMs === 0)
			invalidOption('maxRetries', Infinity, 'an integer, or Infinity with a baseDelayMs above 0')
		// Core requires maxElapsedMs beside Infinity, because a caller waits for it. No caller waits for a
		// message.
		return { ...readRetryOptions({ ...given, maxRetries: 0 }), maxRetries: Infinity }
	})
}

export function readBreaker(path: string, options: RelayCircuitBreakerOptions = {}): BreakerSettings {
	if (Object(options) !== options)
		invalidOption(path, options, 'false or an object such as { failureThreshold: 5 }')
	return withOptionPath(path, () => {
		checkNames(options, BREAKER_SCHEMA)
		const defaults = { resetTimeoutMs: MAX_OPEN_MS, successThreshold: 1, resetBackoff: {} }
		const { permanentThreshold = PERMANENT_THRESHOLD, ...others } = options
		if (permanentThreshold !== Infinity) {
			checkRange('permanentThreshold', permanentThreshold, 1)
			checkInteger('permanentThreshold', permanentThreshold)
		}
		return { ...readCircuitBreakerOptions({ ...defaults, ...definedOnly(others) }), permanentThreshold }
	})
}

/** Leaves out options that are undefined, because they would override defaults. */
const definedOnly = <Options extends object>(options: Options): Partial<Options> =>
	Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<Options>

function readRate(path: string, rate: RateOptions): SharedRate {
	if (Object(rate) !== rate) invalidOption(path, rate, 'an object such as { limit: 10, intervalMs: 1000 }')
	return withOptionPath(path, () => {
		checkNames(rate, RATE_SCHEMA)
		const settings = readOptions<SharedRate>(rate, RATE_SCHEMA)
		const burst = settings.burst || settings.limit
		if (!settings.limit) invalidOption('limit', rate.limit, 'a positive integer')
		for (const [name, value] of Object.entries({ ...settings, burst })) checkInteger(name, value)
		return { ...settings, burst }
	})
}

const AFTER_DEAD_LETTER: readonly AfterDeadLetter[] = ['block', 'skip', 'dead-letter-rest']

function readOrder(path: string, order: boolean | OrderOptions | undefined): AfterDeadLetter | undefined {
	if (order === undefined || order === false) return undefined
	if (order === true) return 'block'
	if (Object(order) !== order) invalidOption(path, order, 'true, false or { afterDeadLetter }')
	withOptionPath(path, () => checkNames(order, { afterDeadLetter: 'any' }))
	const { afterDeadLetter = 'block' } = order
	checkName(`${path}.afterDeadLetter`, afterDeadLetter, AFTER_DEAD_LETTER)
	return afterDeadLetter
}

function checkInteger(name: string, value: unknown): void {
	if (typeof value !== 'number' || value % 1) invalidOption(name, value, 'an integer')
}
