/** A relay's options and those of its destinations, checked, with every default filled in. */
import { presets } from '../../core/backoff/presets.ts'
import { type CircuitSettings, readCircuitBreakerOptions } from '../../core/circuit-breaker/options.ts'
import type { Classification } from '../../core/classify/classification.ts'
import { classify, extendClassifier } from '../../core/classify/classify.ts'
import {
	checkNames,
	invalidOption,
	MAX_NUMBER,
	type OptionSchema,
	readOptions,
} from '../../core/options/schema.ts'
import { type RetrySettings, readRetryOptions } from '../../core/retry/options.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { placed } from '../../http/options/option-path.ts'
import type {
	BreakerOptions,
	Destination,
	DestinationOptions,
	Handler,
	OrderOptions,
	RateOptions,
	RelayRetryOptions,
} from '../destinations/destination.ts'
import type { AfterDeadLetter, Rate } from '../store/rows.ts'
import type { RelayListener } from './events.ts'
import type { RelayOptions } from './options.ts'

export interface RelaySettings {
	readonly name: string
	readonly concurrency: number
	readonly maxInFlight: number
	readonly batchSize: number
	readonly leaseMs: number
	readonly timeoutMs: number
	readonly pollMs: number
	readonly maxCrashes: number
	readonly rampUpMs: number
	readonly maxRetryAfterMs: number
	readonly retry?: RelayRetryOptions | undefined
	readonly breaker?: BreakerOptions | false | undefined
	readonly onEvent?: RelayListener | undefined
	readonly runtime: Runtime
}

/** What holds for one destination. */
export interface DestinationSettings {
	readonly deliver: Handler
	readonly concurrency: number
	/** Infinity when there is no limit. */
	readonly maxConcurrent: number
	readonly rate: Rate | undefined
	readonly timeoutMs: number
	readonly retry: RetrySettings
	readonly classify: (error: unknown) => Classification
	readonly breaker: BreakerSettings | undefined
	/** Undefined when order is not kept. */
	readonly afterDeadLetter: AfterDeadLetter | undefined
}

export interface BreakerSettings extends CircuitSettings {
	readonly isFailure?: ((error: unknown) => boolean) | undefined
}

const RELAY_RULES: OptionSchema = {
	name: 'string',
	destinations: 'any',
	retry: 'any',
	breaker: 'any',
	concurrency: [1, 1e6, 16],
	maxInFlight: [1, 1e6, 1_000],
	batchSize: [1, 10_000, 2_000],
	leaseMs: [50, MAX_NUMBER, 60_000],
	timeoutMs: [1, MAX_NUMBER, 30_000],
	pollMs: [1, MAX_NUMBER, 1_000],
	maxCrashes: [1, MAX_NUMBER, 3],
	rampUpMs: [0, MAX_NUMBER, 10_000],
	maxRetryAfterMs: [0, MAX_NUMBER, 3_600_000],
	onEvent: 'function',
	runtime: 'any',
}

const DESTINATION_RULES: OptionSchema = {
	deliver: 'function',
	concurrency: [1, 1e6, 0],
	maxConcurrent: [1, 1e6, Infinity],
	rate: 'any',
	timeoutMs: [1, MAX_NUMBER, 0],
	retry: 'any',
	breaker: 'any',
	order: 'any',
}

const RATE_RULES: OptionSchema = {
	limit: [1, 1e6, 0],
	intervalMs: [1, MAX_NUMBER, 1_000],
	burst: [1, 1e6, 0],
}

const WHOLE = ['concurrency', 'maxInFlight', 'batchSize', 'maxCrashes'] as const

/** What a breaker is for many messages to one place: the open time grows, for the backlog has time. */
const OPEN_MS = 10_000
const LONGEST_OPEN_MS = 300_000

/** Of what core's retry and breaker take, that which means something here: the rest would be an option without effect. */
const RETRY_NAMES: OptionSchema = named<keyof RelayRetryOptions>([
	...(['baseDelayMs', 'maxDelayMs', 'growth', 'factor', 'jitterStrategy', 'jitterFactor'] as const),
	...(['jitterRangeMs', 'maxRetries', 'shouldRetry', 'delayFor', 'budget', 'classify'] as const),
])
const BREAKER_NAMES: OptionSchema = named<keyof BreakerOptions>([
	...(['failureThreshold', 'successThreshold', 'resetTimeoutMs', 'resetBackoff', 'monitorWindowMs'] as const),
	...([
		'errorRateThreshold',
		'minimumRequests',
		'slowCallMs',
		'slowCallRateThreshold',
		'windowSize',
	] as const),
	...(['maxRetryAfterMs', 'isFailure'] as const),
])

export function readRelayOptions(options: RelayOptions): RelaySettings {
	checkNames(options, RELAY_RULES)
	const settings = readOptions<RelaySettings>(options, RELAY_RULES)
	for (const name of WHOLE) checkWhole(name, settings[name])
	const { name = 'relay', runtime = systemRuntime } = options
	if (typeof runtime?.setTimer !== 'function') invalidOption('runtime', runtime, 'a Runtime')
	return { ...settings, name, runtime }
}

/** The settings of a destination by this name; what it does not say is the relay's. */
export function readDestination(
	name: string,
	given: Handler<never> | Destination<never>,
	relay: RelaySettings,
): DestinationSettings {
	const where = `destinations['${name}']`
	if (typeof given !== 'function' && typeof (given as Destination<never> | undefined)?.deliver !== 'function')
		invalidOption(
			where,
			given,
			'a function (message, context) => Promise<void>, or an object with one as deliver',
		)
	const own: DestinationOptions = typeof given === 'function' ? {} : given
	const settings = placed(`${where}.`, () => {
		checkNames(own, DESTINATION_RULES)
		return readOptions<Record<'concurrency' | 'maxConcurrent' | 'timeoutMs', number>>(own, DESTINATION_RULES)
	})
	for (const option of ['concurrency', 'maxConcurrent'] as const)
		if (own[option] !== undefined) checkWhole(`${where}.${option}`, own[option])
	const breaker = own.breaker === undefined ? relay.breaker : own.breaker
	const { retry = relay.retry } = own
	const retryPlace = own.retry === undefined ? 'retry' : `${where}.retry`
	const breakerPlace = own.breaker === undefined ? 'breaker' : `${where}.breaker`
	return {
		// It is only given messages of its destination, which is what its type asks for.
		deliver: (typeof given === 'function' ? given : given.deliver.bind(given)) as Handler,
		concurrency: settings.concurrency || relay.concurrency,
		maxConcurrent: settings.maxConcurrent,
		rate: own.rate === undefined ? undefined : readRate(`${where}.rate`, own.rate),
		timeoutMs: settings.timeoutMs || relay.timeoutMs,
		retry: readRetry(retryPlace, retry),
		classify: extendClassifier(retry?.classify, classify),
		breaker: breaker === false ? undefined : readBreaker(breakerPlace, breaker),
		afterDeadLetter: readOrder(`${where}.order`, own.order),
	}
}

function readRetry(where: string, options: RelayRetryOptions = {}): RetrySettings {
	if (Object(options) !== options) invalidOption(where, options, 'an object, such as { maxRetries: 5 }')
	return placed(`${where}.`, () => {
		checkNames(options, RETRY_NAMES)
		return readRetryOptions({ ...presets.messageQueue, ...given(options) })
	})
}

function readBreaker(where: string, options: BreakerOptions = {}): BreakerSettings {
	if (Object(options) !== options)
		invalidOption(where, options, 'false, or an object such as { failureThreshold: 5 }')
	return placed(`${where}.`, () => {
		checkNames(options, BREAKER_NAMES)
		const { resetTimeoutMs = OPEN_MS } = options
		const resetBackoff = { maxDelayMs: Math.max(LONGEST_OPEN_MS, resetTimeoutMs) }
		return readCircuitBreakerOptions({ resetTimeoutMs, successThreshold: 1, resetBackoff, ...given(options) })
	})
}

/** What is undefined was not given: it must not take the place of a default. */
const given = <Options extends object>(options: Options): Partial<Options> =>
	Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<Options>

function readRate(where: string, rate: RateOptions): Rate {
	if (Object(rate) !== rate) invalidOption(where, rate, 'an object, such as { limit: 10, intervalMs: 1000 }')
	return placed(`${where}.`, () => {
		checkNames(rate, RATE_RULES)
		const settings = readOptions<Rate>(rate, RATE_RULES)
		const burst = settings.burst || settings.limit
		if (!settings.limit) invalidOption('limit', rate.limit, 'a whole number, 1 or more')
		for (const [name, value] of Object.entries({ ...settings, burst })) checkWhole(name, value)
		return { ...settings, burst }
	})
}

const STUCK: readonly AfterDeadLetter[] = ['block', 'skip', 'dead-letter-rest']

function readOrder(where: string, order: boolean | OrderOptions | undefined): AfterDeadLetter | undefined {
	if (order === undefined || order === false) return undefined
	if (order === true) return 'block'
	if (Object(order) !== order) invalidOption(where, order, 'true, false or { afterDeadLetter }')
	placed(`${where}.`, () => checkNames(order, { afterDeadLetter: 'any' }))
	const { afterDeadLetter = 'block' } = order
	if (!STUCK.includes(afterDeadLetter))
		invalidOption(`${where}.afterDeadLetter`, afterDeadLetter, `one of ${STUCK.join(', ')}`)
	return afterDeadLetter
}

function named<Name extends string>(names: readonly Name[]): OptionSchema {
	return Object.fromEntries(names.map((name) => [name, 'any']))
}

function checkWhole(name: string, value: unknown): void {
	if (typeof value !== 'number' || value % 1) invalidOption(name, value, 'a whole number')
}
